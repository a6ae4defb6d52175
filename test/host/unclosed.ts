/** A program that runs a job and closes no host. `node unclosed.js BASE_URL [exit]`: prints the runtime, and ends. */
import { readdirSync, readFileSync } from "node:fs";
import { JobHost } from "../../src/host/job-host.ts";
import { ref } from "../rig/engine.ts";

const [baseUrl = "", how] = process.argv.slice(2);
const host = new JobHost({ provider: { baseUrl } });
const task = { model: { category: "driving" }, prompt: "Hello" };
await host.installJobsEntry({
  models: { driving: "m" },
  tasks: { greet: task },
  jobs: { greet: { work: ref("greet") } },
});
const { outcome } = await host.runJob("greet");
const children = readdirSync("/proc/self/task").flatMap(
  (thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8").match(/\d+/g) ?? [],
);
// What would keep the process from its end, besides its own output.
const active = process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap");
process.stdout.write(JSON.stringify({ outcome: outcome.kind, children, active }));
if (how === "exit") process.exit(0);
