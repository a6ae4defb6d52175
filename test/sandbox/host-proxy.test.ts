/** The only way out of a sandbox: what reaches this machine through it, with a server of this machine as the judge. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { startHostProxy, type HostLists } from "../../src/sandbox/host-proxy.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const redirect: RequestListener = (_, answer) => {
  answer.writeHead(302, { location: "http://127.0.0.1/elsewhere" }).end("here");
};

async function makeProxy(t: TestContext, hosts: HostLists, respond = redirect) {
  const reached: IncomingMessage[] = [];
  const server = createServer((incoming, answer) => {
    reached.push(incoming);
    respond(incoming, answer);
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
  /** Sends a request as it is written; `http://localhost` gets the port. */
  const send = (head: string, body = ""): Socket => {
    const lines = head.replace("//localhost", `//localhost:${address.port}`).split("\n");
    const client = connect(socketPath);
    client.write(`${[...lines, "Host: x", "Connection: close"].join("\r\n")}\r\n\r\n${body}`);
    return client;
  };
  return { ask, reached, send, port: address.port };
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

const loopback = { allowed: ["localhost"], denied: [] };
// A fault in what follows shows as a connection that stays open.
const bounded = { timeout: 20_000 };

test("headers of one connection end at the proxy, in both directions", bounded, async (t) => {
  const hops = "Trailer: x\nTE: trailers\nKeep-Alive: timeout=9\nUpgrade: h2c\nProxy-Any: x";
  const answered = `HTTP/1.1 200 OK\n${hops}\nX-Kept: 1\nContent-Length: 4\n\nhere`;
  const { reached, send } = await makeProxy(t, loopback, ({ socket }) =>
    socket.end(answered.replaceAll("\n", "\r\n")),
  );
  const got = await text(send(`GET http://localhost/ HTTP/1.1\n${hops}\nX-Sent: 1`));
  assert.match(got, /^HTTP\/1\.1 200 OK\r\nX-Kept: 1\r\n.*\r\n\r\nhere$/is);
  assert.doesNotMatch(got, /^(?:trailer|te|keep-alive|upgrade|proxy-.*):/im);
  const { host, connection, ...rest } = reached[0]?.headers ?? {};
  assert.deepEqual(rest, { "x-sent": "1" }, `${host} ${connection}`);
});

test("the body of a request stays its body, whatever the method", bounded, async (t) => {
  const { reached, send } = await makeProxy(t, loopback, (incoming, answer) => {
    incoming.pipe(answer);
  });
  const body = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const head = "GET http://localhost/ HTTP/1.1\nTransfer-Encoding: chunked";
  const got = await text(send(head, chunks));
  assert.ok(got.includes(body), got);
  assert.equal(reached.map(({ url }) => url).join(), "/");
});

test("an answer that can't be passed on is an answer of 502", bounded, async (t) => {
  const heads = ["HTTP/1.1 099 X", "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade", "no"];
  const { send } = await makeProxy(t, loopback, ({ socket, url }) =>
    socket.end(`${heads[Number(url?.slice(1))]}\r\n\r\n`),
  );
  for (const [index, head] of heads.entries()) {
    const got = await text(send(`GET http://localhost/${index} HTTP/1.1`));
    assert.match(got, /^HTTP\/1\.1 502 /, head);
  }
});

test("a download that breaks off breaks off for the reader, too", bounded, async (t) => {
  const framings = ["Content-Length: 9\r\n\r\nhere", "Transfer-Encoding: chunked\r\n\r\n9\r\nhere"];
  const { reached, send } = await makeProxy(t, loopback, ({ socket, url }) =>
    socket.write(`HTTP/1.1 200 OK\r\n${framings[Number(url?.slice(1))]}`),
  );
  for (const [index, framing] of framings.entries()) {
    const client = send(`GET http://localhost/${index} HTTP/1.1`);
    let got = "";
    for await (const part of client) {
      got += String(part);
      if (got.includes("here")) reached[index]?.socket.destroy();
    }
    assert.match(got, /here(?:\r\n)?$/, framing);
  }
});

test("a reader who leaves ends the request, before and within its answer", bounded, async (t) => {
  let client: Socket | undefined;
  const gone: Promise<unknown>[] = [];
  const { send } = await makeProxy(t, loopback, ({ socket, url }, answer) => {
    gone.push(once(socket, "close"));
    if (url === "/before") client?.destroy();
    else answer.write("here");
  });
  for (const when of ["before", "within"]) {
    client = send(`GET http://localhost/${when} HTTP/1.1`);
    client.on("data", () => client?.destroy());
    await once(client, "close");
  }
  assert.equal((await Promise.all(gone)).length, 2);
});
