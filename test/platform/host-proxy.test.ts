/** The only way out of a sandbox: what reaches this machine through it, with a server of this machine as the judge. */
import assert from "node:assert/strict";
import { createServer, request, type IncomingMessage } from "node:http";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startHostProxy, type HostLists } from "../../src/platform/host-proxy.ts";
import { makeWorkspace } from "../rig/workspace.ts";

async function makeProxy(t: TestContext, hosts: HostLists) {
  const reached: IncomingMessage[] = [];
  const server = createServer((incoming, answer) => {
    reached.push(incoming);
    answer.writeHead(302, { location: "http://127.0.0.1/elsewhere" }).end("here");
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const socketPath = join((await makeWorkspace(t)).path, "hosts");
  const proxy = await startHostProxy(socketPath, hosts);
  t.after(() => {
    proxy.close();
    server.closeAllConnections();
    server.close();
  });
  const ask = (method: string, path: string, headers = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request({ socketPath, method, path, headers }, (answer) => {
        answer.resume();
        resolve(`${answer.statusCode} ${answer.headers.location ?? ""}`.trim());
      });
      asked.on("connect", ({ statusCode }, stream, head) => {
        stream.destroy();
        resolve(`${statusCode} ${head.toString()}`.trim());
      });
      asked.on("error", reject).end();
    });
  return { ask, reached, port: address.port };
}

test("no name or way to write an address leads to this machine or to a cloud's metadata", async (t) => {
  const { ask, reached, port } = await makeProxy(t, { allowed: ["*"], denied: [] });
  const own = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const hosts = [
    ..."localhost LOCALHOST. 127.0.0.1 127.1 0x7f.1 2130706433 017700000001 127.0.0.1. 0".split(
      " ",
    ),
    ..."[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] %6cocalhost ①②⑦.0.0.1".split(" "),
    ..."169.254.169.254 0xA9FEA9FE [::ffff:a9fe:a9fe] [fd00:ec2::254] [fd20:ce::254]".split(" "),
    "100.100.100.200",
    "168.63.129.16",
    "user@localhost",
    hostname(),
    ...own.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address)),
  ].map((host) => host.replaceAll(/[^ -~]/g, encodeURIComponent));
  for (const host of hosts) {
    assert.equal(await ask("GET", `http://${host}:${port}/`), "403", host);
    assert.match(await ask("CONNECT", `${host}:${port}`), /^403/, host);
  }
  assert.equal(reached.length, 0);
});

test("what is named is reached at the port that is asked for, and nothing else by it", async (t) => {
  const hosts = { allowed: ["localhost"], denied: ["bad.localhost"] };
  const { ask, reached, port } = await makeProxy(t, hosts);
  const headers = { host: "other.example.com", "proxy-authorization": "Basic eA==" };
  assert.equal(
    await ask("GET", `http://localhost:${port}/a?b`, headers),
    "302 http://127.0.0.1/elsewhere",
    "redirects are the program's to follow",
  );
  assert.equal(reached[0]?.headers.host, `localhost:${port}`);
  assert.equal(reached[0].headers["proxy-authorization"], undefined);
  assert.match(await ask("CONNECT", `localhost:${port}`), /^200/);
  assert.match(await ask("CONNECT", "localhost:80"), /^(?:200|502 .*:80$)/s);
  for (const host of ["bad.localhost", "localhost.example.com", "169.254.169.254"]) {
    assert.equal(await ask("GET", `http://${host}:${port}/`), "403", host);
  }
  assert.equal(await ask("GET", "/a", { host: `localhost:${port}` }), "400");
  assert.equal(reached.length, 1);
});
