// The API gateway: an HTTP server in front of a router.
import { createServer } from "node:http";
import { createLogger, settingsOf } from "./logging.mjs";
import { Router } from "./router.mjs";

const users = new Map([
  ["1", { name: "Ada", language: "Analytical Engine" }],
  ["2", { name: "Grace", language: "COBOL" }],
]);

export const router = new Router()
  .on("GET", "/health", () => ({ status: 200, body: "ok" }))
  .on("GET", "/users", () => ({ status: 200, body: JSON.stringify([...users.values()]) }))
  .on("GET", "/users/:id", ({ id }) => {
    const user = users.get(id);
    if (user === undefined) return { status: 404, body: `There is no user ${id}.` };
    return { status: 200, body: JSON.stringify(user) };
  });

// Starts the server and resolves when it listens.
export async function start(environment, port = 0) {
  const logger = createLogger(settingsOf(environment));
  const server = createServer((request, response) => {
    const { method = "GET", url = "/" } = request;
    const [path = "/"] = url.split("?");
    const { status, body } = router.answer({ method, path });
    logger.info(`${method} ${path} ${status}`);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}
