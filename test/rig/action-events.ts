/** Runs of tasks with the action protocol as events: made by the executor itself, with scripted tools. */
import * as fc from "fast-check";
import type { ActionEvent, ActionStatus } from "../../src/events/action.ts";
import type { RunEvent, RunEventBody, WorkOutcome, WorkRef } from "../../src/events/event.ts";
import { type ActionsView, type RunView } from "../../src/events/view.ts";
import { type ActionExecutor, createActionExecutor } from "../../src/protocol/executor.ts";
import { anyCharacter } from "./any-character.ts";
import { FakeClock } from "./fake-clock.ts";
import { planned, ref } from "./plan.ts";
import { documentOf, scripted, type Json } from "../protocol/rig.ts";
import { viewOf } from "./tell.ts";

export { documentOf };

const START = Date.UTC(2026, 2, 1, 6, 30);

export const work: WorkRef = { workId: 0, taskId: "ship", iteration: 1 };

/** An action of the tool `name`, which is scripted by its params: see `scripted`. */
export function act(name: string, id: string, params: Json = {}, fields: Json = {}): Json {
  return { action: name, type: "tool", action_id: id, params, ...fields };
}

/** In the background, with a progress bar that takes `seconds`. */
export function background(name: string, id: string, label: string, params: Json): Json {
  const display = {
    type: "progress_bar",
    label,
    estimated_duration_seconds: Number(params["seconds"]),
  };
  return act(name, id, params, { execution: "ASYNC", display });
}

/** Tells a run of a task with actions. */
export class ActionTelling {
  readonly events: RunEvent[] = [];
  readonly clock = new FakeClock();
  readonly executor: ActionExecutor;
  #turns = 0;

  constructor() {
    const names = ["npm/build", "npm/test", "lint", "deploy"];
    this.executor = createActionExecutor({
      tools: [
        ...names.map((name) => scripted(this.clock, name, { parallelSafe: true })),
        scripted(this.clock, "search", { parallelSafe: true, readOnly: true }),
      ],
      delegation: {
        tasks: ["docs"],
        run: async ({ task, input }) => {
          this.#delegate(task, input);
          return { kind: "succeeded", value: `${task}: ${input}` };
        },
      },
      clock: this.clock,
      emit: (action) => this.say({ type: "action", work, action }),
    });
    this.say({
      type: "run.started",
      jobName: "release",
      entryFile: "jobs.yml",
      workingDirectory: "/ws",
      ...planned(ref(0, "ship")),
      actionTasks: ["ship"],
    });
    this.say({ type: "work.started", work, modelId: "gpt-5.4-mini" });
    const session = { work, sessionId: "s1", modelId: "gpt-5.4-mini", role: "both" } as const;
    this.say({ type: "session.started", ...session, retry: 0, attempt: 1 });
  }

  say(body: RunEventBody): this {
    this.events.push({ at: START + this.clock.now(), runId: "run", ...body });
    return this;
  }

  /** A turn of the model, up to its answer. */
  #turn(of: WorkRef, sessionId: string, prompt: string, answer: string): void {
    this.#turns += 1;
    const turn = { work: of, sessionId, turnId: `turn-${this.#turns}` };
    const told = { ...turn, purpose: "prompt" } as const;
    const begun = { modelId: "gpt-5.4-mini", retry: 0, attempt: 1, prompt };
    this.say({ type: "turn.started", ...told, ...begun });
    const messageId = `message-${this.#turns}`;
    const activity = { kind: "message.ended", messageId, text: answer } as const;
    this.say({ type: "activity", ...turn, activity });
    this.say({ type: "turn.ended", ...told, outcome: "completed" });
  }

  /** A turn, and the actions of its document. */
  async turn(document: string, prompt = "Go on."): Promise<this> {
    this.#turn(work, "s1", prompt, document);
    await this.clock.runUntil(this.executor.execute(document));
    return this;
  }

  /** Another task on behalf of an action, in a session of its own. */
  #delegate(taskId: string, input: string): void {
    const of = { ...work, taskId };
    const session = { work: of, sessionId: `${taskId}-1`, role: "both" } as const;
    const modelId = "gpt-5.4-mini";
    this.say({ type: "session.started", ...session, modelId, retry: 0, attempt: 1 });
    this.#turn(of, session.sessionId, input, "The docs are up to date.");
    this.say({ type: "decision", work: of, decision: { kind: "task-succeeded" } });
    this.say({ type: "session.ended", ...session, succeeded: true });
  }

  async finish(outcome: WorkOutcome = { kind: "succeeded" }): Promise<this> {
    await this.clock.runUntil(this.executor.finish());
    this.say({ type: "session.ended", work, sessionId: "s1", role: "both", succeeded: true });
    this.say({ type: "decision", work, decision: { kind: "task-succeeded" } });
    this.say({ type: "work.ended", work, outcome });
    if (outcome.kind !== "failed")
      return this.say({ type: "run.ended", outcome: { kind: "succeeded" } });
    return this.say({ type: "run.ended", outcome });
  }

  get view(): RunView {
    return viewOf(this.events);
  }

  get actions(): ActionsView {
    const { actions } = this.view.works.get(0) ?? {};
    if (actions === undefined) throw new Error("There are no actions.");
    return actions;
  }
}

/** The first document of `releaseStory`: a build in the background, and something to do meanwhile. */
const firstDocument = documentOf(
  [
    background("npm/build", "build", "Building the app", { seconds: 20, says: "compiling" }),
    act("lint", "lint", { seconds: 2, returns: { problems: 0 } }),
  ],
  {
    thoughts: [
      {
        type: "PLAN",
        content: "Build in the background, and lint meanwhile.",
        actions: [act("search", "look", { seconds: 1, returns: "3 files" })],
      },
    ],
    context: { security_level: "admin", variables: { target: "staging" } },
  },
);

/** Builds in the background, is corrected once, tests in a group with a failure, delegates, and deploys. */
export async function releaseStory(): Promise<ActionTelling> {
  const told = new ActionTelling();
  await told.turn(firstDocument, "Ship it.");
  await told.turn(documentOf([act("npm/tset", "test", {}, { depends_on: "biuld" })]));
  const test = (id: string, params: Json): Json => act("npm/test", id, params);
  await told.turn(
    documentOf([
      {
        action: "all tests",
        type: "internal",
        action_id: "tests",
        depends_on: "build",
        sub_actions: [
          test("unit", { seconds: 4 }),
          test("e2e", { seconds: 6, fails: "2 of 40 tests failed" }),
        ],
      },
      act("deploy", "early", {}, { depends_on: "tests" }),
      act("deploy", "slow", { seconds: 100 }),
      {
        action: "delegate",
        type: "internal",
        action_id: "write",
        params: { task: "docs", input: "Update the changelog." },
      },
    ]),
  );
  await told.turn(
    documentOf([background("deploy", "deploy", "Deploying to staging", { seconds: 8 })], {
      stop: true,
      response: "Deployed to **staging**. Two end-to-end tests fail.",
      status: "SUCCESS",
    }),
  );
  return told;
}

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);
const id = fc.constantFrom("a", "b", "build", "constructor", "<b>```", "");
const iteration = fc.integer({ min: 1, max: 3 });
const milliseconds = fc.nat({ max: 100_000 });
const status: fc.Arbitrary<ActionStatus> = fc.constantFrom(
  ...(["waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"] as const),
);
const ended = fc.constantFrom(
  ...(["succeeded", "failed", "timed_out", "cancelled", "skipped"] as const),
);

/** Any of them, which need not fit together. */
export const actionEvent: fc.Arbitrary<ActionEvent> = fc.oneof(
  fc.record({
    type: fc.constant("actions.accepted" as const),
    iteration,
    claimedStatus: text,
    thoughts: fc.array(fc.record({ type: text, content: text }), { maxLength: 2 }),
    variables: fc.record({
      set: fc.array(text, { maxLength: 2 }),
      deleted: fc.array(text, { maxLength: 2 }),
    }),
    actions: fc.nat({ max: 40 }),
    stop: fc.boolean(),
    response: text,
  }),
  fc.record({
    type: fc.constant("actions.rejected" as const),
    iteration,
    problems: fc.array(fc.record({ path: text, code: text, message: text }), { maxLength: 5 }),
  }),
  fc.record({ type: fc.constant("actions.warning" as const), iteration, text }),
  fc.record(
    {
      type: fc.constant("action.waiting" as const),
      id,
      iteration,
      action: text,
      kind: fc.constantFrom("group" as const, "tool" as const, "delegate" as const),
      execution: fc.constantFrom("SYNC" as const, "ASYNC" as const),
      group: id,
      inThought: fc.constant(true as const),
      requires: fc.array(id, { maxLength: 3 }),
      display: fc.record({
        kind: fc.constantFrom("progress_bar" as const, "status_message" as const),
        label: text,
      }),
    },
    { requiredKeys: ["type", "id", "iteration", "action", "kind", "execution"] },
  ),
  fc.record(
    { type: fc.constant("action.started" as const), id, iteration, params: text },
    { requiredKeys: ["type", "id", "iteration"] },
  ),
  fc.record(
    {
      type: fc.constant("action.progress" as const),
      id,
      iteration,
      percent: fc.double({ min: 0, max: 1000, noNaN: true }),
      message: text,
    },
    { requiredKeys: ["type", "id", "iteration"] },
  ),
  fc.record(
    {
      type: fc.constant("action.ended" as const),
      id,
      iteration,
      status: ended,
      milliseconds,
      reason: text,
      cause: fc.record({ id, status }),
      output: text,
      outputCharacters: fc.nat({ max: 1_000_000 }),
      replayed: fc.constant(true as const),
    },
    { requiredKeys: ["type", "id", "iteration", "status", "milliseconds"] },
  ),
  fc.record({
    type: fc.constant("card.ended" as const),
    id,
    status: fc.constantFrom("succeeded" as const, "failed" as const, "cancelled" as const),
    milliseconds,
    reason: text,
  }),
);
