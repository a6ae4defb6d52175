import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRefused, serve } from "./http-rig.ts";

describe("who may call the server", () => {
  it("answers under the names of loopback, with its port", async (t) => {
    const { ask, port } = await serve(t);
    for (const name of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"]) {
      const { status } = await ask("/api/test", { headers: { Host: `${name}:${port}` } });
      assert.equal(status, 200, name);
    }
  });

  it("refuses every other host, so that no name can be rebound to it", async (t) => {
    const { ask, port } = await serve(t);
    for (const name of [
      `evil.example:${port}`,
      "localhost",
      "localhost:1",
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
    ])
      isRefused(await ask("/api/test", { headers: { Host: name } }), 403, "Forbidden");
    isRefused(await ask("/", { headers: { Host: `evil.example:${port}` } }), 403, "Forbidden");
    for (const name of [`user@localhost:${port}`, `localhost:${port}:80`, "[", "a b"]) {
      const { status } = await ask("/api/test", { headers: { Host: name } });
      assert.ok(status === 400 || status === 403, `${name}: ${status}`);
    }
  });

  it("answers under the names of --allowed-host, with any port", async (t) => {
    const { ask } = await serve(t, { allowedHosts: ["Jobs.example"] });
    for (const name of ["jobs.example", "jobs.example:443"])
      assert.equal((await ask("/api/test", { headers: { Host: name } })).status, 200, name);
    const { status } = await ask("/api/test", { headers: { Host: "x.jobs.example" } });
    assert.equal(status, 403);
  });

  it("refuses pages of other origins, also of other ports of this machine", async (t) => {
    const { ask, port } = await serve(t);
    for (const origin of [
      "https://evil.example",
      "http://127.0.0.1:1",
      `http://localhost:${port}`,
      "http://127.0.0.1",
      "null",
      `http://127.0.0.1:${port}/`,
      "",
    ])
      for (const path of ["/api/test", "/api/stop", "/"])
        isRefused(await ask(path, { headers: { Origin: origin } }), 403, "Forbidden");
    const own = await ask("/api/test", { headers: { Origin: `http://127.0.0.1:${port}` } });
    assert.equal(own.status, 200);
  });

  it("refuses what a page of another site makes a browser send without an origin", async (t) => {
    const { ask } = await serve(t);
    for (const site of ["cross-site", "same-site", "anything"])
      for (const path of ["/api/stop", "/api/test", "/page.js"])
        isRefused(await ask(path, { headers: { "Sec-Fetch-Site": site } }), 403, "Forbidden");
    for (const site of ["same-origin", "none"])
      assert.equal((await ask("/api/test", { headers: { "Sec-Fetch-Site": site } })).status, 200);
  });

  it("sends the headers that keep other sites out, with every answer", async (t) => {
    const { ask } = await serve(t);
    for (const [path, headers] of [
      ["/", {}],
      ["/api/test", {}],
      ["/nothing", {}],
      ["/api/test", { Host: "evil.example" }],
      ["/api/%ZZ", {}],
      ["/api/test", { Host: "[" }],
    ] as const) {
      const answer = await ask(path, { headers });
      assert.match(String(answer.headers["content-security-policy"]), /frame-ancestors 'none'/);
      assert.doesNotMatch(String(answer.headers["content-security-policy"]), /unsafe-eval/);
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.equal(answer.headers["referrer-policy"], "no-referrer");
      assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin");
      assert.equal(answer.headers["cache-control"], "no-store");
      assert.equal(answer.headers["access-control-allow-origin"], undefined);
    }
  });
});

describe("a server with a token", () => {
  const token = "the-token-of-this-test";

  it("refuses every request without it, on loopback too", async (t) => {
    const { ask } = await serve(t, { token });
    const wrong: Record<string, string>[] = [
      {},
      { Authorization: "Bearer the-token-of-this-tesT" },
      { Authorization: token },
      { Authorization: `Basic ${token}` },
      { Authorization: "Bearer " },
      { Cookie: `token=${token}` },
    ];
    for (const headers of wrong)
      for (const path of ["/api/test", "/api/stop", "/", "/page.js", "/jobs.html", "/nothing"])
        isRefused(await ask(path, { headers }), 401, "Unauthorized");
    assert.equal((await ask("/api/test")).headers["www-authenticate"], "Bearer");
  });

  it("answers clients that send it in the header", async (t) => {
    const { ask } = await serve(t, { token });
    for (const scheme of ["Bearer", "bearer"]) {
      const answer = await ask("/api/test", { headers: { Authorization: `${scheme} ${token}` } });
      assert.deepEqual(answer.json, { message: "Hello, world!" });
    }
    const foreign = { Authorization: `Bearer ${token}`, Host: "evil.example" };
    assert.equal((await ask("/api/test", { headers: foreign })).status, 403);
  });

  it("gives a browser that opens the page with it a cookie, and takes it out of the address", async (t) => {
    const { ask, port } = await serve(t, { token });
    const opened = await ask(`/?token=${token}`);
    assert.equal(opened.status, 303);
    assert.equal(opened.headers.location, "./");
    const [cookie = "", ...others] = opened.headers["set-cookie"] ?? [];
    assert.equal(others.length, 0);
    assert.match(cookie, new RegExp(`^agent-jobs-${port}=[\\w-]+; HttpOnly; SameSite=Strict$`));
    // Every server on this host name gets the cookie, whatever its port.
    assert.doesNotMatch(cookie, new RegExp(token));

    const [pair = ""] = cookie.split(";");
    for (const Cookie of [pair, `a=b; ${pair}; c=d`])
      assert.equal((await ask("/api/test", { headers: { Cookie } })).status, 200);
    const forged = `agent-jobs-${port}=${token}`;
    assert.equal((await ask("/api/test", { headers: { Cookie: forged } })).status, 401);
  });

  for (const [given, place, path] of [
    ["/agents", "/agents/", "/agents"],
    ["/a/b-c.d/", "/a/b-c.d/", "/a/b-c.d"],
    // Whatever is no path leads nowhere else.
    ["//evil.example", "./", ""],
    ["https://evil.example/", "./", ""],
    ["/\\evil.example", "./", ""],
    ["/a/../..", "./", ""],
    ["/a; Domain=evil.example", "./", ""],
    ['/"><script>', "./", ""],
    ["agents", "./", ""],
    ["/a, /b", "./", ""],
    ["", "./", ""],
  ] as const)
    it(`behind a proxy with X-Forwarded-Prefix: ${given}, leads to ${place}, with a cookie of ${path || "where it came from"}`, async (t) => {
      const { ask } = await serve(t, { token });
      const headers = { "X-Forwarded-Prefix": given };
      const opened = await ask(`/?token=${token}`, { headers });
      assert.equal(opened.status, 303);
      assert.equal(opened.headers["location"], place);
      const [cookie = ""] = opened.headers["set-cookie"] ?? [];
      assert.match(cookie, /^agent-jobs-\d+=[\w-]+;.* HttpOnly; SameSite=Strict$/);
      assert.equal(/; Path=([^;]*);/.exec(cookie)?.[1] ?? "", path);
      const home = place.replace(/^\.?\/$/, "/");
      const page = { ...headers, Accept: "text/html" };
      const { text } = await ask("/", { headers: page });
      assert.ok(text.includes(`<code>${home}?token=TOKEN</code>`), text);
      const missing = { ...page, Authorization: `Bearer ${token}` };
      assert.ok((await ask("/none", { headers: missing })).text.includes(`<a href="${home}">`));
    });

  it("tells a wrong token from none, and a browser gets it as a page that says what to do", async (t) => {
    const { ask, port } = await serve(t, { token });
    const browser = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const cookie = { Cookie: `agent-jobs-${port}=of-another-time` };
    const bearer = { Authorization: "Bearer another" };
    for (const [path, headers, says] of [
      ["/", {}, /requires a token/],
      ["/?token=another", {}, /not the one of this server/],
      ["/api/test", bearer, /not the one of this server/],
      ["/api/test", cookie, /not the one of this server/],
      ["/api/test", browser, /requires a token/],
    ] as const) {
      const answer = await ask(path, { headers });
      assert.equal(answer.status, 401);
      assert.match(JSON.stringify(answer.json), says);
    }
    for (const [path, headers, says] of [
      ["/", browser, /requires a token/],
      ["/foo", browser, /requires a token/],
      ["/?token=<script>another", browser, /token is wrong/],
      ["/", { ...browser, ...cookie }, /token is wrong/],
    ] as const) {
      const { status, headers: sent, text } = await ask(path, { headers });
      assert.equal(status, 401);
      assert.equal(sent["content-type"], "text/html; charset=utf-8");
      assert.match(String(sent["content-security-policy"]), /default-src 'none'/);
      assert.match(text, says);
      assert.match(text, /\/\?token=TOKEN/);
      assert.doesNotMatch(text, /<script|another/);
    }
  });

  it("gives no cookie for another token, on other paths, or under a foreign name", async (t) => {
    const { ask } = await serve(t, { token });
    for (const path of ["/?token=another", "/?token=", `/api/test?token=${token}`]) {
      const answer = await ask(path);
      assert.equal(answer.status, 401, path);
      assert.equal(answer.headers["set-cookie"], undefined);
    }
    const foreign = await ask(`/?token=${token}`, { headers: { Host: "evil.example" } });
    assert.equal(foreign.status, 403);
  });

  it("does not take a cookie as proof that a request comes from its own page", async (t) => {
    const { ask } = await serve(t, { token });
    const opened = await ask(`/?token=${token}`);
    const [Cookie = ""] = (opened.headers["set-cookie"]?.[0] ?? "").split(";");
    const foreign: Record<string, string>[] = [
      { Cookie, Origin: "http://127.0.0.1:1" },
      { Cookie, "Sec-Fetch-Site": "same-site" },
    ];
    for (const headers of foreign) isRefused(await ask("/api/stop", { headers }), 403, "Forbidden");
  });
});

it("leads back to the portal from a mistyped address in a browser, and nowhere else", async (t) => {
  const { ask } = await serve(t);
  const headers = { Accept: "text/html" };
  const page = await ask("/foo/%3Cscript%3E", { headers });
  assert.equal(page.status, 404);
  assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
  assert.match(String(page.headers["content-security-policy"]), /default-src 'none'/);
  assert.match(page.text, /<a href="\/">/);
  assert.doesNotMatch(page.text, /script/);
  for (const [path, asked] of [
    ["/foo", {}],
    ["/foo", { headers, method: "POST" }],
    ["/api/foo", { headers }],
    ["/api", { headers }],
  ] as const) {
    const answer = await ask(path, asked);
    assert.equal(answer.status, 404, path);
    assert.match(JSON.stringify(answer.json), /"NotFound"/);
  }
});
