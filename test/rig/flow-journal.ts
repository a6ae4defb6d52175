/** Runs of a workflow on the engine's ports: a model, a shell and a person that are functions, and a journal in memory. */
import { defined } from "../../src/text/guards.ts";
import type { Script, ScriptRun } from "../../src/events/flow.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import type { PastRun } from "../../src/engine/past.ts";
import type { SessionFactory } from "../../src/engine/ports.ts";
import type { Limits } from "../../src/entry/model.ts";
import type {
  RunEvent,
  RunOutcome,
  ShellState,
  StepEnded,
  StepStarted,
} from "../../src/events/event.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createSink, type Sink } from "../../src/events/sink.ts";
import { createJournalReporter } from "../../src/journal/write.ts";
import { type EarlierJob, EarlierRun, interruptedCommand } from "../../src/run/past-run.ts";
import type { Answers, Workflow } from "../../src/workflow/model.ts";
import type { FlowResult } from "../../src/workflow/run/run-flow.ts";
import type { Executed, Scripts } from "../../src/workflow/run/script-runner.ts";
import { play } from "./engine.ts";
import { sessionCrash } from "./crashes.ts";
import { begunLeaf, leafSpec } from "./flow.ts";

export interface FlowSetup {
  readonly workflow: Workflow;
  readonly variables?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  readonly userInput?: string;
  readonly secrets?: readonly string[];
  /** Gets the whole conversation, the prompt last. Undefined: the session crashes. */
  readonly model?: (conversation: readonly string[]) => string | undefined;
  readonly answers?: Answers;
  /** Undefined: nobody answers. */
  readonly person?: (question: string) => string | undefined;
  readonly shell?: (script: Script, state: ShellState) => Shell;
  readonly past?: PastRun | undefined;
}

export interface Shell {
  readonly run?: Partial<ScriptRun>;
  /** The script could not be run to its end. */
  readonly failed?: { readonly reason: string; readonly because: "denied" | "limit" };
  readonly state?: ShellState;
}

export interface FlowPlayed {
  readonly outcome: RunOutcome;
  readonly result: FlowResult | undefined;
  readonly asked: readonly string[];
  /** The lines of the journal, and how much had been asked when each of them was written. */
  readonly journal: readonly string[];
  readonly marks: readonly number[];
}

export async function playFlow(setup: FlowSetup): Promise<FlowPlayed> {
  const { workflow, variables = {}, secrets = [], past, person } = setup;
  const { model = () => "", shell = (): Shell => ({}), userInput = "" } = setup;
  const asked: string[] = [];
  const journal: string[] = [];
  const marks: number[] = [];
  const file = {
    write(bytes: Uint8Array, offset: number): number {
      journal.push(new TextDecoder().decode(bytes.subarray(offset)));
      marks.push(asked.length);
      return bytes.length - offset;
    },
    close(): void {},
  };
  let sink: Sink | undefined;
  let opened = 0;
  const sessions: SessionFactory = {
    async open({ history = [], systemPrompt, modelId }) {
      opened += 1;
      const before = systemPrompt === undefined ? history : [systemPrompt, ...history];
      const conversation = before.map(({ text }) => text);
      return {
        kind: "opened",
        session: {
          id: `s${opened}`,
          modelId,
          async runTurn(prompt) {
            conversation.push(prompt);
            asked.push(`prompt ${conversation.join(" | ")}`);
            const text = model(conversation);
            if (text === undefined) return { kind: "crashed", toolCalls: [], crash: sessionCrash };
            conversation.push(text);
            return { kind: "completed", toolCalls: [], text };
          },
          close: async () => {},
        },
      };
    },
  };
  const fresh = { workingDirectory: "/", variables: {}, removed: [], functions: "" };
  let state: ShellState = fresh;
  const scripts: Scripts = {
    async execute(all): Promise<Executed> {
      const runs = [];
      for (const script of all) {
        const { failed, run, state: changed = state } = shell(script, state);
        if (failed?.because === "denied") return { kind: "failed", ...failed, runs };
        asked.push(`execute ${script.code}`);
        state = changed;
        const { output = "" } = run ?? {};
        const usual = { exitCode: 0, outputCharacters: output.length, outputFile: "/output.log" };
        runs.push({ code: script.code, ...usual, ...run, output });
        if (failed !== undefined) return { kind: "failed", ...failed, runs };
      }
      return { kind: "executed", runs };
    },
    checkpoint: () => state,
    close: async () => {},
  };
  let result: FlowResult | undefined;
  const name = "flow.wf.md";
  const flow = leafSpec(workflow, () => ({
    ...ofLeaf(setup),
    answers: setup.answers ?? {},
    scripts(begun) {
      state = begun.shell ?? fresh;
      return scripts;
    },
    ask:
      person &&
      (async ({ question }) => {
        asked.push(`ask ${question}`);
        const text = person(question);
        return text === undefined
          ? { kind: "unanswered", reason: "Nobody answers." }
          : { kind: "answered", text };
      }),
    read: () => ({ kind: "failed", reason: "There are no files." }),
    onResult: (end) => (result = end),
  }));
  const { outcome } = await play({
    tasks: {},
    work: { kind: "Flow", file: name },
    flows: { [name]: { ...flow, params: variables } },
    factory: sessions,
    play: () => ({}),
    userInput,
    ...defined({ limits: setup.limits, past }),
    onEvent(event, clock) {
      sink ??= createSink({
        runId: "run",
        clock,
        redactor: createRedactor(secrets),
        reporters: [createJournalReporter(file, () => 0)],
      });
      sink.emit(event);
    },
  });
  await sink?.close();
  return { outcome, result, asked, journal, marks };
}

function ofLeaf({ workflow, variables = {}, limits }: FlowSetup) {
  return { workflow, variables, environment: {}, limits: resolveLimits(limits) };
}

/** The steps that `--resume` takes from a journal. */
export function restoreFrom(setup: FlowSetup, events: readonly RunEvent[]): FoundJournal {
  let earlier = new EarlierRun();
  for (const event of events) earlier = earlier.add(event);
  const { past, isIncomplete } = earlier;
  const [underWay] = past.underWay;
  const found = begunLeaf(ofLeaf(setup), setup.userInput ?? "", underWay);
  return {
    past,
    isIncomplete,
    command: underWay && interruptedCommand(underWay, false),
    refusal: found.kind === "refused" ? found.reason : undefined,
  };
}

export interface FoundJournal extends Pick<EarlierJob, "past" | "isIncomplete"> {
  readonly command: ReturnType<typeof interruptedCommand>;
  readonly refusal: string | undefined;
}

export function stepsOf(events: readonly RunEvent[]): readonly (StepStarted | StepEnded)[] {
  return events.filter((event) => event.type === "step.started" || event.type === "step.ended");
}
