/**
 * How long reading a workflow of 1,000 activities takes, in processes of their own: the load of the modules, the first
 * reading, and later ones. Prints medians and spreads.
 *
 *   npm run bench:reading        (takes a few seconds)
 */
import { execFileSync } from "node:child_process";

const PROCESSES = 15;
const ACTIVITIES = 1_000;
const WARM = 30;

/** Of all kinds, with a prompt for every fifth activity. */
function workflow(activities: number): string {
  const nodes = Array.from({ length: activities - 2 }, (_, index) => {
    switch (index % 5) {
      case 0:
        return [`PROMPT_${index}[Prompt: User ${index}]`];
      case 1:
        return [`EXECUTE_${index}[Execute: echo "{{RESULT}}" | head -3 > /dev/null]`];
      case 2:
        return [`CHECK_${index}{RESULT == 'SUCCESS'}`];
      case 3:
        return [`SET_${index}[V${index}=RESULT]`];
      default:
        return [`ASSIGN_${index}[Assign: User ${index - 4}]`];
    }
  }).flat();
  const ids = nodes.map((node) => /^\w+/.exec(node)?.[0] ?? "");
  const lines = nodes.flatMap((node, index) => {
    const next = ids[index + 1] ?? "SUCCESS";
    if (!node.startsWith("CHECK")) return [`    ${node} --> ${next}`];
    return [`    ${node} --> |TRUE| ${next}`, `    ${ids[index]} --> |FALSE| ${ids[index - 1]}`];
  });
  const prompts = ids.filter((id) => id.startsWith("PROMPT")).map((id) => id.slice(7));
  const texts = prompts.map(
    (id) => `## User ${id}\n\nThe output was:\n\n\`\`\`\n{{RESULT}}\n\`\`\`\n`,
  );
  return `---\npermissions: workspace\n---\n\n# A workflow\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n    START --> ${ids[0]}\n${lines.join("\n")}\n    SUCCESS([end])\n\`\`\`\n\n# Prompts\n\n${texts.join("\n")}`;
}

const elapsed = (since: bigint): number => Number(process.hrtime.bigint() - since) / 1e6;
/** Of the process, with its garbage collector and compiler: what a busy machine doesn't change so much. */
const cpuTime = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e3;
};
const at = (list: readonly number[], share: number): number =>
  list.toSorted((a, b) => a - b)[Math.round((list.length - 1) * share)] ?? Number.NaN;

/** In a process of its own: milliseconds for the modules, the first reading, and the median of later ones. */
async function measure(): Promise<readonly number[]> {
  const text = Buffer.from(workflow(ACTIVITIES));
  const cpu = process.cpuUsage();
  const begin = process.hrtime.bigint();
  const { loadWorkflow } = await import("../src/workflow/read/load-workflow.ts");
  const modules = elapsed(begin);
  const times: number[] = [];
  let firstCpu = Number.NaN;
  for (let round = 0; round <= WARM; round++) {
    const start = process.hrtime.bigint();
    const read = loadWorkflow(text, "bench.wf.md");
    times.push(elapsed(start));
    if (round === 0) firstCpu = cpuTime(cpu);
    if (read.kind !== "loaded" || read.warnings.length > 0) throw new Error("not loaded");
    const { activities } = read.workflow.files[read.workflow.main] ?? { activities: {} };
    if (Object.keys(activities).length !== ACTIVITIES) throw new Error("not all are read");
  }
  const [first = Number.NaN, ...warm] = times;
  return [modules, first, modules + first, firstCpu, at(warm, 0.5)];
}

if (process.argv[2] === "once") console.log(JSON.stringify(await measure()));
else {
  const script = import.meta.filename;
  const rounds = Array.from({ length: PROCESSES }, (): readonly number[] =>
    JSON.parse(execFileSync(process.execPath, [script, "once"], { encoding: "utf8" })),
  );
  const names = [
    "modules",
    "first reading",
    "modules and first reading",
    "CPU time of both",
    "later readings",
  ];
  console.log(`${ACTIVITIES} activities, ${PROCESSES} processes:`);
  for (const [index, name] of names.entries()) {
    const list = rounds.map((round) => round[index] ?? Number.NaN);
    const [low, median, high] = [0.1, 0.5, 0.9].map((share) => at(list, share).toFixed(1));
    console.log(`${name.padEnd(26)} median ${median} ms (${low}–${high})`);
  }
}
