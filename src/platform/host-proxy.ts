/**
 * The only way out of a sandbox without a network of its own: a proxy for HTTP in this process, on a socket that is a
 * file, which connects to hosts that are listed.
 *
 * Invariants: a name is looked up here, and what it leads to is connected to, so no second answer counts; an address of
 * this machine, or one that only clouds use (169.254.…), is reached only if the list names it or `localhost`.
 */
import { lookup } from "node:dns/promises";
import { createServer, request as sendRequest, type IncomingMessage } from "node:http";
import { networkInterfaces } from "node:os";
import { BlockList, connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Names, addresses, or `*.example.com` for all hosts below it; a denied one wins. `localhost`: this machine. */
export interface HostLists {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

export interface HostProxy {
  /** Breaks all connections. Idempotent. */
  close(): void;
}

/** `socket`: the path of the file. Rejects if it can't be made. */
export async function startHostProxy(socket: string, hosts: HostLists): Promise<HostProxy> {
  const open = new Set<Duplex>();
  const keep = <T extends Duplex>(stream: T): T => {
    open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => open.delete(stream));
    return stream;
  };
  const server = createServer((incoming, answer) => {
    void (async () => {
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
      const outgoing = sendRequest(
        {
          host: address,
          port: target.port || 80,
          method: incoming.method,
          path: `${target.pathname}${target.search}`,
          headers: { ...withoutHops(incoming), host: target.host },
        },
        (response) => {
          const { statusCode = 0, headers } = response;
          answer.writeHead(statusCode < 100 ? 502 : statusCode, headers);
          response.pipe(answer);
        },
      );
      outgoing.on("error", (error) => {
        if (!answer.headersSent) answer.writeHead(502);
        answer.end(`${error.message}\n`);
      });
      answer.once("close", () => outgoing.destroy());
      incoming.pipe(outgoing);
    })();
  });
  server.on("connection", (stream: Socket) => keep(stream));
  server.on("connect", (incoming, inside: Duplex, head) => {
    void (async () => {
      // Of this scheme, the port 443 may be left out.
      const target = URL.parse(`https://${incoming.url ?? ""}`);
      const address = target === null ? undefined : await addressOf(target.hostname, hosts);
      if (target === null || address === undefined) {
        inside.end(`HTTP/1.1 403 Forbidden\r\n\r\n${refusal(target?.hostname ?? "")}`);
        return;
      }
      const outside = keep(connect(Number(target.port || 443), address));
      outside.once("connect", () => {
        inside.write("HTTP/1.1 200 Connection established\r\n\r\n");
        outside.write(head);
        inside.pipe(outside).pipe(inside);
      });
      outside.once("error", (error) => {
        inside.end(`HTTP/1.1 502 Bad Gateway\r\n\r\n${error.message}\n`);
      });
      inside.once("close", () => outside.destroy());
      outside.once("close", () => inside.destroy());
    })();
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

/** Where a host is, if the lists allow it. */
async function addressOf(name: string, hosts: HostLists): Promise<string | undefined> {
  const host = name
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.+$/, "");
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
] as const) {
  here.addSubnet(net, prefix);
}
for (const [net, prefix] of [
  ["::", 127],
  ["fe80::", 10],
  ["fd00:ec2::254", 128],
  ["fd20:ce::254", 128],
] as const) {
  here.addSubnet(net, prefix, "ipv6");
}

/** Of this machine, or of a cloud's metadata. */
function isHere(address: string): boolean {
  const own = new BlockList();
  for (const one of Object.values(networkInterfaces()).flatMap((some) => some ?? [])) {
    own.addAddress(one.address, one.family === "IPv6" ? "ipv6" : "ipv4");
  }
  return [here, own].some((list) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4"));
}

const ofOneConnection = new Set(["connection", "proxy-connection", "proxy-authorization"]);

function withoutHops({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofOneConnection.has(name)));
}
