/** Workflows as leaves of a job on the real engine, with fake sessions, a fake shell and a fake clock. */
import type { Script } from "../../src/events/flow.ts";
import type { FlowContext, FlowEnd, FlowSpec } from "../../src/engine/flow.ts";
import { partLimits, resolveLimits } from "../../src/engine/limits.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { RunEventBody, ShellState, StepEnded, StepStarted } from "../../src/events/event.ts";
import type { Limits } from "../../src/entry/model.ts";
import type { Answers, Asker } from "../../src/workflow/kinds/ask.ts";
import { flowChartOf } from "../../src/workflow/describe.ts";
import { bindParameters } from "../../src/workflow/parameters.ts";
import { beginRun } from "../../src/workflow/run/restore.ts";
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
  readonly tags = ["sh", "shell", "bash"];
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
    const run = async (context: FlowContext): Promise<FlowEnd> => {
      const { userInput, ports } = context;
      const given = { ...context.params, USER_INPUT: userInput };
      const bound = bindParameters(workflow, given);
      if (bound.kind === "incomplete") throw new Error("a parameter has no value");
      const start = { variables: bound.variables, userInput };
      const fake = new FakeScripts(shell, ports.clock);
      scripts.push(fake);
      const read: FlowRun["read"] = (path, from) => {
        const found = files.read(path, from);
        return found.kind === "found"
          ? { kind: "read", text: String(found.content) }
          : { kind: "failed", reason: found.reason };
      };
      end = await runFlow(
        {
          workflow,
          modelId: "m",
          permissions: "workspace",
          limits,
          begun: beginRun(workflow, { environment, limits, tags: fake.tags }, start),
          answers: setup.answers ?? {},
          ask: setup.ask,
          scripts: fake,
          read,
          onResult: (one) => (result = one),
          yielder: neverDue,
        },
        context,
      );
      return end;
    };
    return { modelId: "m", permissions: "workspace", chart: flowChartOf(workflow), run };
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
