import type { Server } from "node:http";

/** A test, or whoever ends the server otherwise. */
export interface Owner {
  after(close: () => void): void;
}

/** Listens on a free port of loopback until the test is over: its address. */
export async function listen(test: Owner, server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No port.");
  return `http://127.0.0.1:${address.port}`;
}
