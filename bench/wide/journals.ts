/** The list of a folder of journals in the portal: the first one of a server that has just started. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { once } from "node:events";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { writeJournals } from "../../test/rig/many-journals.ts";
import { temporary } from "../sessions/sides.ts";
import type { Row, Side } from "./row.ts";

const folder = join(temporary, "journals");
let isWritten = false;

function list(name: string, query: string): Side {
  const run: Side["run"] = async (commandLine) => {
    if (!isWritten) writeJournals(folder, 1_200, 296e6);
    isWritten = true;
    const args = [commandLine, "serve", "--port", "0", "--journals", folder];
    const env = { ...process.env, COPILOT_CLI_PATH: findRuntime({ environment: {} }) };
    const server = spawn(process.execPath, args, {
      cwd: temporary,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    server.stdout.on("data", (part: Buffer) => (printed += part.toString()));
    const ended = once(server, "exit");
    while (!printed.includes("/api/") && server.exitCode === null)
      await Promise.race([once(server.stdout, "data"), ended]);
    const [address = ""] = /http:\S+\/api\//.exec(printed) ?? [];
    const start = performance.now();
    await (await fetch(`${address}copilot/journal?${query}`)).text();
    const seconds = (performance.now() - start) / 1000;
    server.kill("SIGTERM");
    await ended;
    return { "first list, s": seconds };
  };
  return { name, run };
}

export const rows: readonly Row[] = [
  {
    name: "the list of 1,200 journals of 296 MB",
    sides: [list("the first 100", ""), list("1,000", "limit=1000")],
  },
];
