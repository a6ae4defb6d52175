/** Questions to GitHub that fail, are refused, or meet a bad moment; on loopback, with a clock that only counts. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createGithubApi } from "../../src/github/github-api.ts";
import { startGithubServer, type BrokenAnswer } from "../rig/github-server.ts";

interface Asked {
  readonly answer: string;
  readonly requests: number;
  /** Milliseconds. */
  readonly waits: readonly number[];
  readonly log: readonly string[];
}

const now = Date.parse("2026-01-01T00:00:00Z");

async function ask(t: TestContext, broken: readonly BrokenAnswer[], url?: string): Promise<Asked> {
  const server = await startGithubServer(t, { permissions: { maintainer: "admin" }, broken });
  const waits: number[] = [];
  const log: string[] = [];
  const api = createGithubApi({
    token: "ghs_0123456789",
    repository: "octo/shop",
    apiUrl: url ?? server.url,
    log: (line) => log.push(line),
    clock: {
      now: () => now,
      sleep(milliseconds, signal) {
        // The limit of a request has a signal. It is exceeded where the server hangs.
        if (signal !== undefined)
          return broken.includes("hang") ? Promise.resolve() : new Promise(() => {});
        waits.push(milliseconds);
        return Promise.resolve();
      },
    },
  });
  const answer = await api
    .permissionOf("maintainer")
    .catch((error: unknown) => (error instanceof Error ? error.message : "?"));
  return { answer, requests: server.requests.length, waits, log };
}

describe("a question to GitHub", { concurrency: 1 }, () => {
  it("is asked again when it was refused, failed, or was cut off", async (t) => {
    const refusals = [500, 429, 401, 403].map((status) => ({ status }));
    for (const first of [...refusals, "cut"] as const) {
      const { answer, requests, waits, log } = await ask(t, [first]);
      // GitHub asks to wait a minute where an answer that names a limit has no time.
      const wait = first !== "cut" && first.status === 429 ? 60 : 1;
      assert.deepEqual([answer, requests, waits], ["admin", 2, [wait * 1000]]);
      assert.match(
        log.join(),
        new RegExp(`^GitHub (answered \\d+|is unreachable) \\(.*\\)\\. Retrying in ${wait} s\\.$`),
      );
    }
  });

  it("is asked three times at most, and then says what the last answer was", async (t) => {
    for (const [broken, message, expected = [1000, 3000]] of [
      [{ status: 503 }, /^GitHub answered 503 \(scripted.*\), 3 times$/],
      ["cut", /^GitHub is unreachable \(.+\), 3 times$/],
      [
        { status: 403, body: '{"message":"secondary rate limit"}' },
        /^GitHub answered 403 .*, 3 times$/,
        [60_000, 60_000],
      ],
      [
        // The connection ends within the answer.
        { status: 200, body: '{"permission":"adm', headers: { "content-length": "99" } },
        /^GitHub's answer broke off, 3 times$/,
      ],
    ] as const) {
      const { answer, requests, waits } = await ask(t, [broken, broken, broken, broken]);
      assert.match(answer, message);
      assert.equal(requests, 3);
      assert.deepEqual(waits, expected);
    }
  });

  it("is asked once more if it was refused, and once if there is no such thing", async (t) => {
    const refused = { status: 403 };
    const { answer, requests } = await ask(t, [refused, refused, refused]);
    assert.match(answer, /^GitHub answered 403 \(scripted.*\), 2 times$/);
    assert.equal(requests, 2);
    const missing = await ask(t, [{ status: 404 }, { status: 404 }]);
    assert.match(missing.answer, /^GitHub answered 404 \([^)]*\)$/);
    assert.equal(missing.requests, 1);
  });

  it("waits as long as GitHub asks for, up to a minute", async (t) => {
    const at = (headers: Readonly<Record<string, string>>) => ask(t, [{ status: 429, headers }]);
    for (const [after, wait] of [
      ["7", 7000],
      [new Date(now + 20_000).toUTCString(), 20_000],
      ["0", 1000],
      ["soon", 60_000],
    ] as const)
      assert.deepEqual((await at({ "retry-after": after })).waits, [wait]);
    const reset = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now / 1000 + 30) };
    assert.deepEqual((await at(reset)).waits, [30_000]);
    const long = await at({ "retry-after": "3600" });
    assert.match(long.answer, /^GitHub answered 429 .*, and asked to wait 3600 s$/);
    assert.equal(long.requests, 1);
    assert.deepEqual(long.waits, []);
  });

  it("that reaches nobody says so, and not that there was an answer", async (t) => {
    for (const url of ["http://127.0.0.1:9", "http://no-such-host.invalid"]) {
      const { answer, waits } = await ask(t, [], url);
      assert.match(answer, /^GitHub is unreachable \(.+\), 3 times$/);
      assert.doesNotMatch(answer, /500/);
      assert.deepEqual(waits, [1000, 3000]);
    }
  });

  it("that is not answered is asked once more", async (t) => {
    const { answer } = await ask(t, ["hang", "hang"]);
    assert.equal(answer, "GitHub did not answer within 10 s, 2 times");
  });

  it("takes no other answer for a permission", async (t) => {
    const { answer } = await ask(t, [{ status: 200, body: '{"permissions":"admin"}' }]);
    assert.equal(answer, "GitHub's response has no permission");
  });

  it("for a file takes no link, no folder and nothing that is too large", async (t) => {
    const files = {
      "main:link": { type: "symlink", target: "/etc" },
      "main:folder": [],
      "main:large": { type: "file", encoding: "none", content: "" },
    };
    const server = await startGithubServer(t, { files });
    const options = { token: "ghs_0123456789", repository: "octo/shop", apiUrl: server.url };
    const api = createGithubApi(options);
    for (const name of ["link", "folder"])
      await assert.rejects(api.readFile(name, "main"), /not a regular file/);
    await assert.rejects(api.readFile("large", "main"), /larger than/);
    const asked = server.requests.length;
    for (const name of ["../pulls/1", "a/../../x", "./a"])
      await assert.rejects(api.readFile(name, "main"), /outside of the repository/);
    assert.equal(server.requests.length, asked);
  });
});
