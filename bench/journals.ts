/** The list of a folder of journals in the portal: the first one of a server that has just started. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { findRuntime } from "../src/runtime/find-runtime.ts";
import { writeJournals } from "../test/rig/many-journals.ts";
import { cli, temporary, type Row, type Side } from "./rig.ts";

const folder = join(temporary, "journals");
let isWritten = false;

function list(name: string, query: string, keepsIndex: boolean): Side {
  const run: Side["run"] = async (dist) => {
    if (!isWritten) writeJournals(folder, 1_200, 296e6);
    isWritten = true;
    if (!keepsIndex) await rm(join(folder, ".agent-jobs-journals.json"), { force: true });
    const args = [cli(dist), "serve", "--port", "0", "--journals", folder];
    const env = { ...process.env, COPILOT_CLI_PATH: findRuntime({ environment: {} }) };
    const server = spawn(process.execPath, args, { cwd: temporary, env });
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

const name = "the list of 1,200 journals of 296 MB";

export const rows: readonly Row[] = [
  {
    name,
    sides: [list("the first 100", "", false), list("1,000", "limit=1000", false)],
    atMost: { "first list, s": 3 },
  },
  {
    name: `${name}, with the index`,
    sides: [list("the first 100", "", true), list("1,000", "limit=1000", true)],
  },
];
