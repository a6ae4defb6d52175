/**
 * `npm run bench:rehearsals [COUNT]`: how long `agent-jobs rehearse` takes for many small rehearsals, a task and a
 * check each. Fails if 200 of them take a minute or more.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { rehearseFiles } from "../src/run/rehearse.ts";

const count = Number(process.argv[2] ?? 200);
const parallel = process.argv[3] === undefined ? undefined : Number(process.argv[3]);
const folder = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const entry = {
  models: { driving: "m" },
  tasks: {
    look: {
      model: { category: "driving" },
      prompt: "Look.",
      criteria: {
        condition: "Good? Call job_boolean_true or job_boolean_false.",
        failureAction: { retryTimes: 1 },
      },
    },
  },
  jobs: { look: { work: { kind: "Ref", taskId: "look" } } },
};
const rehearsal = (name: number): object => ({
  entry: "entry.json",
  description: `look ${name}`,
  sessions: [
    {
      turns: [
        { prompt: "Look", text: "I looked." },
        { prompt: "Good", tools: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] },
      ],
    },
  ],
  expect: { works: [{ task: "look", outcome: "succeeded", retries: 0 }] },
});
try {
  await writeFile(join(folder, "entry.json"), JSON.stringify(entry));
  const files: string[] = [];
  for (let name = 0; name < count; name += 1) {
    const file = join(folder, `${name}.rehearsal.json`);
    await writeFile(file, JSON.stringify(rehearsal(name)));
    files.push(file);
  }
  const start = performance.now();
  let passed = 0;
  const options = { environment: process.env, workingDirectory: folder, parallel };
  for await (const report of rehearseFiles(files, options, {})) {
    if (report.kind === "passed") passed += 1;
    else console.log(report);
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage();
  console.log(
    `${passed} of ${count} passed in ${seconds.toFixed(1)} s (${((1000 * seconds) / count).toFixed(0)} ms each; ${((user + system) / 1e6).toFixed(1)} s of our own CPU)`,
  );
  if (passed < count || (count >= 200 && seconds >= 60)) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
