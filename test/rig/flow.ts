/** Workflows as leaves of a job on the real engine, with fake sessions, a fake shell and a fake clock. */
import type { Script } from "../../src/events/flow.ts";
import type { FlowContext, FlowEnd, FlowSpec } from "../../src/engine/plan.ts";
import { partLimits, resolveLimits, type ResolvedLimits } from "../../src/engine/limits.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { RunEventBody, ShellState, StepEnded, StepStarted } from "../../src/events/event.ts";
import type { Limits } from "../../src/entry/model.ts";
import type { Answers, Asker, Workflow } from "../../src/workflow/model.ts";
import { flowChartOf } from "../../src/workflow/describe.ts";
import { bindParameters } from "../../src/workflow/parameters.ts";
import { beginRun, restoreRun, type Begun } from "../../src/workflow/run/machine.ts";
import { runFlow, type FlowResult, type FlowRun } from "../../src/workflow/run/run-flow.ts";
import type { ExecuteOptions, Executed, Scripts } from "../../src/workflow/run/script-runner.ts";
import { prompts as usualPrompts } from "../workflow/run/machine-rig.ts";
import { filesOf, load, workflowText } from "../workflow/rig.ts";
import { play, type Played, type Setup } from "./engine.ts";

/** For runs under a fake clock, which goes on as soon as nothing but time is waited for. */
export const neverDue: FlowRun["yielder"] = { yieldIfDue: () => Promise.resolve() };

export type Shell = (
  scripts: readonly Script[],
  options: ExecuteOptions,
  clock: Clock,
) => string | Executed | Promise<Executed>;

export interface FlowSetup extends Partial<Setup> {
  /** Flowcharts of other files. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files that are no workflows. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly prompts?: string;
  readonly frontMatter?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly answers?: Answers;
  readonly ask?: Asker;
  readonly shell?: Shell;
  readonly ownLimits?: Limits;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface FlowPlayed extends Played {
  readonly result: FlowResult | undefined;
  readonly steps: readonly (StepStarted | StepEnded)[];
  /** The activities that have begun. */
  readonly path: string;
  /** `failed: reason`, or how else the last workflow has ended. */
  readonly end: FlowEnd | undefined;
  readonly scripts: readonly FakeScripts[];
}

export class FakeScripts implements Scripts {
  readonly executed: string[] = [];
  closed = 0;
  readonly #shell: Shell;
  readonly #clock: Clock;

  constructor(shell: Shell, clock: Clock) {
    this.#shell = shell;
    this.#clock = clock;
  }

  async execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed> {
    this.executed.push(...scripts.map(({ code }) => code));
    const end = await this.#shell(scripts, options, this.#clock);
    if (typeof end !== "string") return end;
    const runs = scripts.map(({ code }) => ({ ...ofCode(code), output: end }));
    return { kind: "executed", runs };
  }

  checkpoint(): ShellState {
    return { workingDirectory: "/workspace", variables: {}, removed: [], functions: "" };
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

const ofCode = (code: string) =>
  ({ code, outputCharacters: 0, outputFile: "/output", exitCode: 0 }) as const;

/** An EXECUTE whose last script ends with this exit code. */
export function exited(exitCode: number, output = ""): Executed {
  return { kind: "executed", runs: [{ ...ofCode("x"), output, exitCode }] };
}

export interface Leaf extends Pick<FlowRun, "read" | "answers" | "ask" | "onResult"> {
  readonly workflow: Workflow;
  readonly limits: ResolvedLimits;
  readonly environment: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly scripts: (begun: Begun) => Scripts;
}

/** The steps of `past` are done again first, as far as they would be the same. */
export function begunLeaf(
  { workflow, limits, environment, variables }: Omit<Leaf, "scripts" | "read" | "answers">,
  userInput: string,
  past: FlowContext["past"],
) {
  const options = { environment, limits, tags: ["sh", "shell", "bash"] };
  const start = { variables, userInput };
  return past === undefined
    ? ({ kind: "restored", ...beginRun(workflow, options, start) } as const)
    : restoreRun(workflow, options, start, past);
}

/** A workflow as a leaf of a job. */
export function leafSpec(
  workflow: Workflow,
  leafOf: (context: FlowContext) => Omit<Leaf, "workflow">,
): FlowSpec {
  const run = (context: FlowContext): Promise<FlowEnd> => {
    const leaf = { ...leafOf(context), workflow };
    const begun = begunLeaf(leaf, context.userInput, context.past);
    if (begun.kind === "refused") throw new Error(begun.reason);
    const scripts = leaf.scripts(begun);
    return runFlow(
      { ...leaf, modelId: "m", permissions: "workspace", begun, scripts, yielder: neverDue },
      context,
    );
  };
  return { modelId: "m", permissions: "workspace", chart: flowChartOf(workflow), run };
}

/** Runs `work`, by default a workflow with this flowchart; each file of `files` can be a leaf, too. */
export async function playFlow(flowchart: string, setup: FlowSetup = {}): Promise<FlowPlayed> {
  const { prompts = usualPrompts, frontMatter, shell = () => "", environment = {} } = setup;
  const texts = Object.fromEntries(
    Object.entries({ "a.wf.md": flowchart, ...setup.files }).map(([name, chart]) => [
      name,
      (name === "a.wf.md" && frontMatter !== undefined ? `---\n${frontMatter}\n---\n` : "") +
        workflowText(chart, prompts),
    ]),
  );
  const files = filesOf({ ...texts, ...setup.texts });
  let result: FlowResult | undefined;
  let end: FlowEnd | undefined;
  const scripts: FakeScripts[] = [];
  const entryLimits = resolveLimits(setup.entry?.limits, setup.limits);
  const specOf = (name: string): FlowSpec => {
    const loaded = load(texts[name] ?? "", { files });
    if (loaded.kind === "rejected")
      throw new Error(loaded.diagnostics.map((one) => one.reason).join("\n"));
    const { workflow } = loaded;
    const limits = partLimits(entryLimits, setup.ownLimits, name);
    const spec = leafSpec(workflow, ({ params, userInput, ports }) => {
      const bound = bindParameters(workflow, { ...params, USER_INPUT: userInput });
      if (bound.kind === "incomplete") throw new Error("a parameter has no value");
      const fake = new FakeScripts(shell, ports.clock);
      scripts.push(fake);
      return {
        limits,
        environment,
        variables: bound.variables,
        answers: setup.answers ?? {},
        ask: setup.ask,
        scripts: () => fake,
        read(path, from) {
          const found = files.read(path, from);
          return found.kind === "found"
            ? { kind: "read", text: String(found.content) }
            : { kind: "failed", reason: found.reason };
        },
        onResult: (one) => (result = one),
      };
    });
    return { ...spec, run: async (context) => (end = await spec.run(context)) };
  };
  const played = await play({
    tasks: {},
    work: {
      kind: "Flow",
      file: "a.wf.md",
      ...(setup.params === undefined ? {} : { params: setup.params }),
    },
    play: ({ prompt }) => ({ text: `answer to ${prompt}` }),
    ...setup,
    flows: Object.fromEntries(Object.keys(texts).map((name) => [name, specOf(name)])),
  });
  const steps = played.events.filter(isStep);
  const path = steps
    .flatMap((one) => (one.type === "step.started" ? [one.activity] : []))
    .join(" ");
  return { ...played, result, end, steps, path, scripts };
}

function isStep(event: RunEventBody): event is StepStarted | StepEnded {
  return event.type === "step.started" || event.type === "step.ended";
}
