/** Runs of workflows as events, told step by step. */
import { defined } from "../../src/text/guards.ts";
import type {
  EffectResult,
  FlowChart,
  FlowNode,
  ActivityKind,
  ScriptRun,
} from "../../src/events/flow.ts";
import type {
  RunEvent,
  RunEventBody,
  WorkOutcome,
  StepEnded,
  StepStarted,
} from "../../src/events/event.ts";
import type { PlannedFlow, PlannedTree } from "../../src/events/plan.ts";
import type { RunView } from "../../src/events/view.ts";
import { planned } from "./plan.ts";
import { viewOf } from "./tell.ts";

const START = Date.UTC(2026, 2, 1, 6, 30);

export function node(
  id: string,
  label = "",
  rest: Partial<Omit<FlowNode, "id" | "label">> = {},
): FlowNode {
  return { id, kind: kindOf(id), label, line: 1, ...rest };
}

function kindOf(id: string): ActivityKind {
  if (id.startsWith("ON_")) return "on";
  const word = /^[A-Z]+/.exec(id)?.[0].toLowerCase() ?? "";
  const kinds = ["start", "set", "assign", "check", "prompt", "ask", "execute", "call", "success"];
  return kinds.find((kind): kind is ActivityKind => kind === word) ?? "failed";
}

/** A workflow that asks a model, runs what it says, checks it and calls another one. */
export const chart: FlowChart = {
  main: "flow.wf.md",
  files: {
    "flow.wf.md": {
      file: "docs/flow.wf.md",
      title: "Build it",
      parameters: [{ name: "REPO" }],
      activities: [
        node("START", "", { line: 10, next: "PROMPT_PLAN" }),
        node("PROMPT_PLAN", "User Plan", { line: 11, next: "EXECUTE_BUILD" }),
        node("EXECUTE_BUILD", "npm run build", {
          line: 12,
          next: "CHECK_OK",
          other: "PROMPT_PLAN",
        }),
        node("CHECK_OK", 'RESULT CONTAINS "ok"', {
          line: 13,
          next: "CALL_PUBLISH",
          other: "PROMPT_PLAN",
        }),
        node("CALL_PUBLISH", "publish.wf.md", {
          line: 14,
          next: "SUCCESS",
          other: "FAILED",
          calls: "publish.wf.md",
        }),
        node("ASK_NEVER", "never asked?", { line: 15, next: "SUCCESS" }),
        node("SUCCESS", "", { line: 16 }),
        node("FAILED", "", { line: 17 }),
      ],
    },
    "publish.wf.md": {
      file: "docs/publish.wf.md",
      parameters: [],
      activities: [
        node("START", "", { line: 5, next: "ASK_SURE" }),
        node("ASK_SURE", "Publish it?", { line: 6, next: "SUCCESS" }),
        node("SUCCESS", "", { line: 7 }),
      ],
    },
  },
};

export const work = { workId: 0, taskId: "flow.wf.md", iteration: 1 };

export function flowTree(of: FlowChart = chart, workIdInJob = 0): PlannedFlow {
  return {
    kind: "Flow",
    workIdInJob,
    file: "flow.wf.md",
    taskId: "flow.wf.md",
    params: {},
    modelId: "gpt-5.4-mini",
    chart: of,
  };
}

interface ToldStep extends Partial<Omit<StepStarted, "type">>, Partial<Omit<StepEnded, "type">> {
  readonly activity: string;
  readonly seconds?: number;
}

/** Tells a run of a workflow; a step that was begun by `begin` ends by `end`. */
export class FlowTelling {
  readonly events: RunEvent[] = [];
  #at = START;
  #step = 0;
  readonly #open: { readonly step: number; readonly activity: string; readonly file: string }[] =
    [];

  constructor(tree: PlannedTree = flowTree()) {
    this.say({
      type: "run.started",
      jobName: "flow",
      entryFile: "docs/flow.wf.md",
      workingDirectory: "/ws",
      ...planned(tree),
    });
    this.say({ type: "work.started", work, modelId: "gpt-5.4-mini" });
  }

  say(body: RunEventBody): this {
    this.events.push({ at: this.#at, runId: "run", ...body });
    return this;
  }

  begin({ activity, file = "flow.wf.md", hit = 1, depth = 0, input }: ToldStep): this {
    this.#step += 1;
    const step = this.#step;
    this.#open.push({ step, activity, file });
    const started = { type: "step.started", work, step, file, activity, hit, depth } as const;
    return this.say({ ...started, ...defined({ input }) });
  }

  end({ seconds = 0, succeeded = true, ...told }: Omit<ToldStep, "activity"> = {}): this {
    const open = this.#open.pop();
    if (open === undefined) throw new Error("No step is open.");
    this.#at += seconds * 1000;
    const { to, reason, effects, result, variables } = told;
    const more = defined({ to, reason, effects, result, variables });
    return this.say({ type: "step.ended", work, ...open, succeeded, ...more });
  }

  step(told: ToldStep): this {
    return this.begin(told).end(told);
  }

  prompt(activity: string, text: string, answer: string, rest: Partial<ToldStep> = {}): this {
    return this.step({
      activity,
      input: { kind: "prompt", agent: 0, text },
      effects: [{ kind: "answered", text: answer }],
      result: answer,
      seconds: 4,
      ...rest,
    });
  }

  execute(
    activity: string,
    code: string,
    run: Partial<ScriptRun>,
    rest: Partial<ToldStep> = {},
  ): this {
    const exitCode = run.exitCode ?? 0;
    const effects: EffectResult[] = [
      { kind: "executed", runs: [{ code, output: "", ...run, exitCode }] },
    ];
    return this.step({
      activity,
      input: { kind: "execute", scripts: [{ tag: "sh", code }] },
      effects,
      result: `$ ${code}\n${run.output ?? ""}\n`,
      variables: { EXIT_CODE: String(exitCode) },
      succeeded: exitCode === 0,
      ...(exitCode === 0 ? {} : { reason: `${activity} ended with exit code ${exitCode}.` }),
      seconds: 2,
      ...rest,
    });
  }

  finish(outcome: WorkOutcome = { kind: "succeeded" }, report = "built and published"): this {
    this.say({ type: "work.ended", work, outcome, report });
    if (outcome.kind === "failed") {
      const { reason } = outcome;
      this.say({ type: "decision", work, decision: { kind: "task-failed", reason } });
      return this.say({ type: "run.ended", outcome: { kind: "failed", reason } });
    }
    return this.say({ type: "run.ended", outcome: { kind: "succeeded" } });
  }

  get view(): RunView {
    return viewOf(this.events);
  }
}

/** Builds at the second attempt, checks, and publishes. */
export function buildStory(): FlowTelling {
  const told = new FlowTelling()
    .step({ activity: "START", to: "PROMPT_PLAN" })
    .prompt("PROMPT_PLAN", "How do I build it?", "npm run biuld", { to: "EXECUTE_BUILD" })
    .execute(
      "EXECUTE_BUILD",
      "npm run biuld",
      { exitCode: 1, output: "no such script" },
      { to: "PROMPT_PLAN" },
    )
    .prompt("PROMPT_PLAN", "no such script", "npm run build", { to: "EXECUTE_BUILD", hit: 2 })
    .execute("EXECUTE_BUILD", "npm run build", { output: "ok" }, { to: "CHECK_OK", hit: 2 })
    .step({ activity: "CHECK_OK", to: "CALL_PUBLISH" })
    .begin({ activity: "CALL_PUBLISH" });
  return told
    .step({ activity: "START", file: "publish.wf.md", depth: 1, to: "ASK_SURE" })
    .step({
      activity: "ASK_SURE",
      file: "publish.wf.md",
      depth: 1,
      input: { kind: "ask", question: "Publish it?", times: 0 },
      effects: [{ kind: "answered", text: "yes" }],
      result: "yes",
      to: "SUCCESS",
      seconds: 60,
    })
    .step({ activity: "SUCCESS", file: "publish.wf.md", depth: 1 })
    .end({ to: "SUCCESS" })
    .step({ activity: "SUCCESS" });
}
