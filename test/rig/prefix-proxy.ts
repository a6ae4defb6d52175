/** A proxy that puts a server behind a path, strips the path, and says so, as nginx and Traefik can be told to. */
import { createServer, request } from "node:http";
import { listen, type Owner } from "./listen.ts";

/** `says`: whether it sends `X-Forwarded-Prefix`. Returns the address of the server behind it. */
export async function prefixProxy(
  owner: Owner,
  target: string,
  prefix: string,
  says = true,
): Promise<string> {
  const { port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = "" } = incoming;
    // Another application of the same host.
    if (!url.startsWith(`${prefix}/`))
      return void outgoing.writeHead(404).end("another application");
    const path = url.slice(prefix.length);
    const added = says ? { "X-Forwarded-Prefix": prefix } : {};
    const asked = request({
      port,
      host: "127.0.0.1",
      method,
      path,
      headers: { ...headers, ...added },
    });
    asked.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    asked.on("error", () => outgoing.destroy());
    incoming.pipe(asked);
  });
  return `${await listen(owner, server)}${prefix}/`;
}
