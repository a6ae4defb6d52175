/**
 * The action protocol without a job: a tool made in code, two answers of a model, and what its next prompt says.
 * Needs no token and no network. After `npm run build`: node build/examples/actions.js
 */
import { type ActionTool, createActionExecutor, newsText, problemsText } from "../src/index.ts";

const build: ActionTool = {
  name: "build",
  description: "Builds a target",
  parameters: {
    type: "object",
    required: ["target"],
    properties: { target: { type: "string" } },
    additionalProperties: false,
  },
  timeoutSeconds: 60,
  run: async ({ params }, { onProgress }) => {
    onProgress({ percent: 50, message: "Linking" });
    return { kind: "succeeded", value: { id: "b1", target: params["target"], warnings: 2 } };
  },
};
const analyze: ActionTool = {
  name: "analyze",
  parameters: { type: "object", properties: { build: { type: "string" } } },
  readOnly: true,
  run: async ({ params }) => ({
    kind: "succeeded",
    value: `The build ${String(params["build"])} is fine.`,
  }),
};

const executor = createActionExecutor({
  tools: [build, analyze],
  limits: { parallel: 2 },
  emit: (event) => {
    if (event.type === "action.ended") console.log(`${event.id} ${event.status}`);
  },
});

/** What a model would answer. The second action waits for the first one, because it uses its result. */
function answer(target: unknown): string {
  return JSON.stringify({
    status: "EXECUTING",
    thoughts: [{ type: "PLAN", content: "Build, then look at the build." }],
    actions: [
      { action_id: "build", action: "build", type: "tool", params: { target }, execution: "ASYNC" },
      {
        action_id: "look",
        action: "analyze",
        type: "tool",
        params: { build: "${{results.build.id}}" },
      },
    ],
    stop: false,
    response: null,
  });
}

for (const target of [5, "//main:app"]) {
  const turn = await executor.execute(answer(target));
  if (turn.kind === "rejected") console.log(problemsText(turn.problems));
  else console.log(newsText(await executor.collect(), await executor.standing()));
}
const { background } = await executor.finish();
console.log(`${background.length} actions were still running.`);
