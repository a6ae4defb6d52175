/**
 * The only way out of a sandbox without a network. A name is looked up here, and what it leads to is connected to, so no
 * second answer counts; an address of this machine, or of a cloud's metadata, must be named by the list (or `localhost`).
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, request as sendRequest, type IncomingMessage } from "node:http";
import { networkInterfaces } from "node:os";
import { BlockList, connect, isIP, type Socket } from "node:net";
import { finished, type Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Names, addresses, or `*.example.com` for all hosts below it; a denied one wins. `localhost`: this machine. */
export interface HostLists {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

export async function startHostProxy(socket: string, hosts: HostLists): Promise<{ close(): void }> {
  const open = new Set<Duplex>();
  const keep = <T extends Duplex>(stream: T): T => {
    open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => open.delete(stream));
    return stream;
  };
  const server = createServer((incoming, answer) => {
    (async () => {
      const target = URL.parse(incoming.url ?? "");
      if (target?.protocol !== "http:") {
        answer.writeHead(400).end("Only addresses that begin with http:// are passed on.\n");
        return;
      }
      const address = await addressOf(target.hostname, hosts);
      if (address === undefined) {
        answer.writeHead(403).end(refusal(target.hostname));
        return;
      }
      const chunked = { "transfer-encoding": "chunked" };
      const outgoing = sendRequest({
        host: address,
        port: target.port || 80,
        method: incoming.method,
        path: `${target.pathname}${target.search}`,
        headers: {
          ...withoutHops(incoming),
          host: target.host,
          // Or the body of a GET would be sent without an end, to be read as the next request.
          ...("transfer-encoding" in incoming.headers ? chunked : {}),
        },
      });
      finished(answer, () => outgoing.destroy());
      incoming.pipe(outgoing);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once("response", resolve);
        outgoing.on("error", reject);
        // No error is emitted after an upgrade that nobody asked for.
        outgoing.once("close", () => reject(new Error(`${target.host} gave no answer.`)));
      });
      answer.writeHead(response.statusCode ?? 502, withoutHops(response));
      await pipeline(response, answer);
    })().catch((error: unknown) => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end(`${String(error)}\n`);
    });
  });
  server.on("connection", (stream: Socket) => keep(stream));
  server.on("connect", (incoming, inside: Duplex, head) => {
    (async () => {
      // This scheme allows an address to omit the port 443.
      const target = URL.parse(`https://${incoming.url ?? ""}`);
      const address = target === null ? undefined : await addressOf(target.hostname, hosts);
      if (target === null || address === undefined) {
        inside.end(`HTTP/1.1 403 Forbidden\r\n\r\n${refusal(target?.hostname ?? "")}`);
        return;
      }
      const outside = keep(connect(Number(target.port || 443), address));
      inside.once("close", () => outside.destroy());
      await once(outside, "connect");
      // The last bytes of the host may still wait for a slow reader.
      outside.once("close", () => incoming.socket.destroySoon());
      inside.write("HTTP/1.1 200 Connection established\r\n\r\n");
      outside.write(head);
      inside.pipe(outside).pipe(inside);
    })().catch((error: unknown) => {
      inside.end(`HTTP/1.1 502 Bad Gateway\r\n\r\n${String(error)}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  server.unref();
  return {
    close() {
      server.close();
      for (const stream of open) stream.destroy();
    },
  };
}

function refusal(host: string): string {
  return `permissions.hosts and permissions.url don't name ${host}.\n`;
}

async function addressOf(name: string, hosts: HostLists): Promise<string | undefined> {
  const host = name
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/(?<!\.)\.+$/, "");
  if (hosts.denied.some((pattern) => hostMatches(host, pattern, true))) return undefined;
  const isLoopback = hosts.allowed.includes("localhost");
  const isOpen = isLoopback && /^(?:localhost|127\.0\.0\.1|::1)$/.test(host);
  if (!isOpen && !hosts.allowed.some((pattern) => hostMatches(host, pattern, false))) {
    return undefined;
  }
  const found = isIP(host) === 0 ? await lookup(host).catch(() => undefined) : { address: host };
  if (found === undefined || !isHere(found.address)) return found?.address;
  const isNamed = hosts.allowed.includes(found.address);
  return isNamed || (isLoopback && /^127\.|^::1$/.test(found.address)) ? found.address : undefined;
}

/** `*.example.com` are all hosts below it; a denial of `example.com` covers those as well. */
function hostMatches(host: string, pattern: string, denies: boolean): boolean {
  if (pattern === "*" || host === pattern) return true;
  const above = pattern.startsWith("*.") ? pattern.slice(1) : denies ? `.${pattern}` : undefined;
  return above !== undefined && host.endsWith(above);
}

const here = new BlockList();
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["100.100.100.200", 32],
  ["168.63.129.16", 32],
  ["::", 127],
  ["fe80::", 10],
  ["fd00:ec2::254", 128],
  ["fd20:ce::254", 128],
] as const) {
  here.addSubnet(net, prefix, familyOf(net));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function isHere(address: string): boolean {
  const own = new BlockList();
  for (const one of Object.values(networkInterfaces()).flatMap((some) => some ?? [])) {
    own.addAddress(one.address, familyOf(one.address));
  }
  return [here, own].some((list) => list.check(address, familyOf(address)));
}

const ofOneConnection = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

function withoutHops({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ofOneConnection.test(name)),
  );
}
