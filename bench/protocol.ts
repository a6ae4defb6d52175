/**
 * What the scheduler of the action protocol costs by itself: 1,000 actions of a trivial tool in the background at
 * once, with bounded parallelism, from documents to delivered results. Prints medians and spreads.
 *
 *   npm run bench:protocol        (takes a few seconds)
 */
import { systemClock } from "../src/platform/system-clock.ts";
import type { Tool } from "../src/tools/tool.ts";
import { createActionExecutor } from "../src/protocol/executor.ts";

const ACTIONS = 1_000;
const PER_DOCUMENT = 25;
const PARALLEL = 16;
const ROUNDS = 15;
/** Of scheduling, per action. */
const BOUND_MS = 5;

interface Measured {
  readonly cpu: number;
  readonly wall: number;
  readonly most: number;
}

/** Every action uses the result of the one before it in its document, if `chained`. */
async function measure(chained: boolean): Promise<Measured> {
  let running = 0;
  let most = 0;
  let calls = 0;
  const trivial: Tool = {
    name: "trivial",
    parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    parallelSafe: true,
    run: async ({ params }) => {
      calls += 1;
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => setImmediate(resolve));
      running -= 1;
      return { kind: "succeeded", value: { n: params["n"] } };
    },
  };
  const executor = createActionExecutor({
    tools: [trivial],
    clock: systemClock,
    limits: { parallel: PARALLEL },
  });
  const documents = Array.from({ length: ACTIONS / PER_DOCUMENT }, (_, document) =>
    JSON.stringify({
      status: "TASK_STARTED",
      thoughts: [],
      actions: Array.from({ length: PER_DOCUMENT }, (_, index) => ({
        action_id: `a${document}-${index}`,
        action: "trivial",
        type: "tool",
        execution: "ASYNC",
        params: { n: chained && index > 0 ? `\${{results.a${document}-${index - 1}.n}}` : index },
      })),
      stop: false,
      response: null,
    }),
  );
  const cpu = process.cpuUsage();
  const begin = performance.now();
  for (const document of documents) {
    const turn = await executor.execute(document);
    if (turn.kind === "rejected") throw new Error(JSON.stringify(turn.problems));
  }
  const { undelivered } = await executor.finish();
  const wall = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const succeeded = undelivered.results.filter(({ status }) => status === "succeeded").length;
  if (calls !== ACTIONS || succeeded !== ACTIONS)
    throw new Error(`${calls} calls, ${succeeded} ok`);
  if (most > PARALLEL) throw new Error(`${most} calls at once`);
  return { cpu: (user + system) / 1e3, wall, most };
}

const at = (list: readonly number[], share: number): number =>
  list.toSorted((a, b) => a - b)[Math.round((list.length - 1) * share)] ?? Number.NaN;
const spread = (list: readonly number[]): string => {
  const [low, median, high] = [0.1, 0.5, 0.9].map((share) => at(list, share).toFixed(3));
  return `median ${median} ms (${low}–${high})`;
};

console.log(`${ACTIONS} actions in the background, at most ${PARALLEL} at once, ${ROUNDS} rounds:`);
for (const chained of [false, true]) {
  const rounds: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(chained));
  const cpu = rounds.map((one) => one.cpu / ACTIONS);
  console.log(chained ? "each needs the result of another:" : "independent:");
  console.log(`  CPU time per action    ${spread(cpu)}`);
  console.log(`  elapsed per action     ${spread(rounds.map((one) => one.wall / ACTIONS))}`);
  console.log(`  calls at once          ${Math.max(...rounds.map(({ most }) => most))}`);
  if (at(cpu, 0.5) >= BOUND_MS) {
    console.error(`  more than ${BOUND_MS} ms of CPU time per action`);
    process.exitCode = 1;
  }
}
