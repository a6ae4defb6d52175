/**
 * What is green in a job with workflows, and with tasks of the action protocol, on the engine's ports: random runs
 * against small models, written from docs/workflows.md and docs/action-protocol.md. `green.test.ts` does the same
 * for ordinary tasks on the real runtime.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ToolOutcome } from "../../src/tools/tool.ts";
import type { Work } from "../../src/entry/model.ts";
import type { Executed } from "../../src/workflow/run/script-runner.ts";
import { talk } from "../protocol/dialogue-rig.ts";
import { action, documentOf, tool } from "../protocol/rig.ts";
import { answered } from "../rig/crashes.ts";
import { ref } from "../rig/engine.ts";
import type { Act } from "../rig/fake-sessions.ts";
import { exited, playFlow } from "../rig/flow.ts";
import { holds } from "../rig/fuzz.ts";

// ---- workflows

const kinds = ["prompt", "check", "execute", "ask", "set", "call"] as const;
const outcomes = ["ok", "ok", "no", "bad", "bad"] as const;

interface Node {
  readonly kind: (typeof kinds)[number];
  readonly outcome: (typeof outcomes)[number];
  /** How many activities further on; beyond the last: an end. */
  readonly next: number;
  readonly other: number | undefined;
}

const ends = ["SUCCESS", "FAILED", "FAILED", "none"] as const;

interface Chart {
  readonly nodes: readonly Node[];
  /** Where edges beyond the last activity lead. */
  readonly end: (typeof ends)[number];
}

interface FlowCase {
  readonly main: Chart;
  readonly handler: Chart | undefined;
  readonly called: Chart;
  readonly work: "leaf" | "Alt" | "while" | "in Seq" | "in Par";
  readonly wish: boolean;
}

const nodes: fc.Arbitrary<Node> = fc.record({
  kind: fc.constantFrom(...kinds),
  outcome: fc.constantFrom(...outcomes),
  next: fc.integer({ min: 1, max: 2 }),
  other: fc.option(fc.integer({ min: 1, max: 2 }), { freq: 3 }).map((one) => one ?? undefined),
});
const charts = (maxLength: number): fc.Arbitrary<Chart> =>
  fc.record({ nodes: fc.array(nodes, { maxLength }), end: fc.constantFrom(...ends) });
const flowCases: fc.Arbitrary<FlowCase> = fc.record({
  main: charts(5),
  handler: fc.option(charts(3), { freq: 2 }).map((one) => one ?? undefined),
  called: charts(3).map((chart) => ({
    ...chart,
    nodes: chart.nodes.filter(({ kind }) => kind !== "call"),
  })),
  work: fc.constantFrom("leaf", "Alt", "Alt", "while", "in Seq", "in Par"),
  wish: fc.boolean(),
});

type FlowEnd = "succeeded" | "failed" | "unanswered";

/** The end of a file, without and with its handler. */
function endOf({ nodes: all, end }: Chart, called: () => FlowEnd): FlowEnd | "explicit" {
  let unanswered = false;
  for (let at = 0; ;) {
    const node = all[at];
    if (node === undefined) {
      if (end === "FAILED") return unanswered ? "unanswered" : "failed";
      return end === "SUCCESS" ? "explicit" : "succeeded";
    }
    const found = outcomeOf(node, called);
    const chooses = node.other !== undefined && ["execute", "call"].includes(node.kind);
    if (found === "bad") unanswered = true;
    else if (found === "no" || chooses || node.kind === "check") unanswered = false;
    if (found === "ok") at += node.next;
    else if (node.other !== undefined) at += node.other;
    else return unanswered ? "unanswered" : "failed";
  }
}

function outcomeOf({ kind, outcome, other }: Node, called: () => FlowEnd): Node["outcome"] {
  switch (kind) {
    case "set":
      return "ok";
    case "check":
      return outcome === "ok" ? "ok" : "no";
    case "execute":
      // If the edge is missing, the model judges the output.
      return outcome === "no" && other === undefined ? "ok" : outcome;
    case "call":
      return ({ succeeded: "ok", failed: "no", unanswered: "bad" } as const)[called()];
    case "prompt":
    case "ask":
      return outcome === "ok" ? "ok" : "bad";
  }
}

function expectedEnd({ main, handler, called }: FlowCase): FlowEnd {
  const sub = (): FlowEnd => {
    const end = endOf(called, () => "succeeded");
    return end === "explicit" ? "succeeded" : end;
  };
  const end = endOf(main, sub);
  if (end === "succeeded" || end === "explicit") return "succeeded";
  if (handler === undefined) return end;
  const handled = endOf(handler, sub);
  if (handled === "explicit") return "succeeded";
  if (end === "unanswered") return end;
  // A FAILED that the handler leads to means the failure that it handles.
  return handled === "unanswered" && !leadsToFailed(handler, sub) ? "unanswered" : "failed";
}

function leadsToFailed(chart: Chart, called: () => FlowEnd): boolean {
  return chart.end === "FAILED" && endOf({ ...chart, end: "SUCCESS" }, called) === "explicit";
}

function isGreen({ work, wish }: FlowCase, end: FlowEnd): boolean {
  if (work === "leaf") return end === "succeeded";
  if (end === "unanswered") return false;
  // A `while` goes on for as long as its condition says the same.
  return work !== "while" || (end === "succeeded") !== wish;
}

const names = { prompt: "PROMPT", check: "CHECK", execute: "EXECUTE", ask: "ASK", set: "SET" };

/** Which activity is meant is in its text: each file has a letter. */
function written({ nodes: all, end }: Chart, letter: string, start: string): string {
  const place = (index: number): string | undefined => {
    const node = all[index];
    if (node === undefined) return end === "none" ? undefined : `${end}_${letter}`;
    return `${node.kind === "call" ? "CALL" : names[node.kind]}_${letter}${index}`;
  };
  const edge = (from: string, to: string | undefined, label: string): string[] =>
    to === undefined ? [] : [`${from} -->${label} ${to}`];
  const labels = all.map((node, index) => {
    const what = `${node.outcome}-${letter}${index}`;
    const label = {
      prompt: `['${what}']`,
      check: `{"'a' == '${node.outcome === "ok" ? "a" : "b"}'"}`,
      execute: `["${what}"]`,
      ask: `["${what}"]`,
      set: `["V=${what}"]`,
      call: "[c.wf.md]",
    }[node.kind];
    return `${place(index)}${label}`;
  });
  return [
    ...labels,
    ...(place(0) === undefined ? [start] : edge(start, place(0), "")),
    ...all.flatMap((node, index) => {
      const from = place(index) ?? "";
      return [
        ...edge(from, place(index + node.next), ""),
        ...(node.other === undefined || node.kind === "set"
          ? []
          : edge(from, place(index + node.other) ?? "", "|no|")),
      ];
    }),
  ].join("\n");
}

/** An absent edge and one to an absent end are the same. */
function normal(chart: Chart): Chart {
  if (chart.end !== "none") return chart;
  const { length } = chart.nodes;
  return {
    ...chart,
    nodes: chart.nodes.map((node, index) =>
      node.other !== undefined && index + node.other >= length
        ? { ...node, other: undefined }
        : node,
    ),
  };
}

function workOf({ work, wish }: FlowCase): Work {
  const flow: Work = { kind: "Flow", file: "a.wf.md" };
  const alt = (condition: Work): Work => ({ kind: "Alt", condition, trueWork: ref("body") });
  switch (work) {
    case "leaf":
      return flow;
    case "Alt":
      return alt(flow);
    case "while":
      return { kind: "Loop", preCondition: [wish, flow], body: ref("body"), atMost: 2 };
    case "in Seq":
      return alt({ kind: "Seq", works: [ref("body"), flow] });
    case "in Par":
      return alt({ kind: "Par", works: [flow, ref("body")] });
  }
}

/** Not attempted again. */
const bad: Act = { crash: answered(401) };

function playPrompt(prompt: string): Act {
  if (prompt.startsWith("ok") || prompt === "Body") return { text: "t" };
  return prompt.startsWith("no") ? { text: "t", cut: true } : bad;
}

function execute(code: string): Executed {
  if (code.startsWith("ok")) return exited(0);
  if (code.startsWith("no")) return exited(1);
  return { kind: "failed", because: "denied", reason: "Denied", runs: [] };
}

test("a job with workflows is green only if it is, whatever their activities come to", async (t) => {
  const property = fc.asyncProperty(flowCases, async (given) => {
    const one = {
      ...given,
      main: normal(given.main),
      handler: given.handler && normal(given.handler),
      called: normal(given.called),
    };
    const { main, handler, called } = one;
    const chart = [
      written(main, "M", "START"),
      ...(handler === undefined ? [] : [written(handler, "H", "ON_FAILED")]),
    ].join("\n");
    const played = await playFlow(chart, {
      tasks: { body: { model: { category: "driving" }, prompt: "Body" } },
      work: workOf(one),
      files: { "c.wf.md": written(called, "C", "START") },
      play: ({ prompt }) => playPrompt(prompt),
      shell: ([script]) => execute(script?.code ?? ""),
      ask: ({ question }) =>
        Promise.resolve(
          question.startsWith("ok")
            ? { kind: "answered", text: "yes" }
            : { kind: "unanswered", reason: "nobody" },
        ),
    });
    const end = expectedEnd(one);
    assert.equal(
      played.outcome.kind,
      isGreen(one, end) ? "succeeded" : "failed",
      `${end}\n${chart}\n${written(called, "C", "START")}\n${played.path}\n${JSON.stringify(played.outcome)}`,
    );
  });
  await holds(t, property, 100);
});

// ---- the action protocol

const ways = ["succeeds", "fails", "throws", "ends later", "fails later", "never ends"] as const;
const likelyWays = [...ways, "succeeds", "ends later", "ends later"] as const;

interface Call {
  readonly tool: "build" | "other";
  readonly way: (typeof ways)[number];
  /** Undefined: the default one. */
  readonly id: string | undefined;
  readonly background: boolean;
  readonly dependsOn: string | undefined;
  readonly valid: boolean;
}

interface Answer {
  readonly actions: readonly Call[];
  readonly kind: "document" | "cut" | "no document" | "crash" | "stop";
  readonly functions: readonly ("job_prepare_document" | "!job_prepare_document" | "!build")[];
}

const ids = fc.constantFrom(undefined, "a", "a", "b");
const answers: fc.Arbitrary<Answer> = fc.record({
  actions: fc.array(
    fc.record({
      tool: fc.constantFrom("build", "other"),
      way: fc.constantFrom(...likelyWays),
      id: ids,
      background: fc.boolean(),
      dependsOn: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom("a", "b") },
      ),
      valid: fc.nat(19).map((one) => one > 0),
    }),
    { maxLength: 3 },
  ),
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant("document" as const) },
    { weight: 3, arbitrary: fc.constant("stop" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("cut" as const, "no document" as const, "crash" as const),
    },
  ),
  functions: fc.array(
    fc.constantFrom(
      "job_prepare_document",
      "job_prepare_document",
      "!job_prepare_document",
      "!build",
    ),
    {
      maxLength: 2,
    },
  ),
});

test("a task with the action protocol is green only if its tools have succeeded since its last retry", async (t) => {
  let greens = 0;
  const property = fc.asyncProperty(
    fc.array(answers, { maxLength: 6 }),
    fc.nat(2),
    async (given, retryTimes) => {
      let built = false;
      let prepared = false;
      let last: Answer["kind"] = "stop";
      let next = 0;
      // Two prompts later, so that a document comes in between.
      let soon: (() => void)[] = [];
      let later: (() => void)[] = [];
      const run = (name: string, way: Call["way"], signal: AbortSignal): Promise<ToolOutcome> => {
        const end = (succeeds: boolean): ToolOutcome => {
          // A result that arrives after the time limit is ignored.
          if (succeeds && name === "build" && !signal.aborted) built = true;
          return succeeds ? { kind: "succeeded", value: name } : { kind: "failed", reason: "no" };
        };
        switch (way) {
          case "succeeds":
            return Promise.resolve(end(true));
          case "fails":
            return Promise.resolve(end(false));
          case "throws":
            return Promise.reject(new Error("thrown"));
          case "never ends":
            return new Promise(() => {});
          case "ends later":
          case "fails later":
            return new Promise((resolve) => later.push(() => resolve(end(way === "ends later"))));
        }
      };
      const asTool = (name: string) =>
        tool(name, {
          parameters: { type: "object", properties: { way: { enum: ways } }, required: ["way"] },
          run: ({ params }, { signal }) =>
            run(name, ways.find((way) => way === params["way"]) ?? "throws", signal),
        });
      const answer = (prompt: string): Act => {
        if (prompt.startsWith("Ship it.")) [built, prepared] = [false, false];
        for (const resolve of soon) resolve();
        [soon, later] = [later, []];
        const one: Answer = given[next++] ?? { actions: [], kind: "stop", functions: [] };
        last = one.kind;
        if (one.kind === "crash") return bad;
        prepared ||= one.functions.includes("job_prepare_document");
        const actions = one.actions.map(({ tool: name, way, id, background, dependsOn, valid }) =>
          action(name, {
            params: { way: valid ? way : "no way" },
            ...(id === undefined ? {} : { action_id: id }),
            ...(dependsOn === undefined ? {} : { depends_on: dependsOn }),
            // Actions that wait for a later prompt must not hold it back.
            execution: background || way.endsWith("later") ? "ASYNC" : "SYNC",
          }),
        );
        const text =
          one.kind === "no document"
            ? "I'm done."
            : documentOf(actions.length === 0 ? null : actions, { stop: one.kind === "stop" });
        return { tools: one.functions, text, ...(one.kind === "cut" ? { cut: true } : {}) };
      };
      const { outcome, endedActions } = await talk({
        task: {
          criteria: {
            toolExecuted: ["build", "job_prepare_document"],
            failureAction: { retryTimes },
          },
        },
        tools: [asTool("build"), asTool("other")],
        answers: [answer],
      });
      if (outcome.kind === "succeeded") greens += 1;
      assert.ok(
        outcome.kind !== "succeeded" || (built && prepared && last === "stop"),
        `${built} ${prepared} ${last} ${endedActions.join(", ")}`,
      );
      // A round that the model has ended in order is red only for its tools, or for actions that fail in the background.
      const isSound = given.every(({ actions }) =>
        actions.every(({ way, valid }) => way === "succeeds" && valid),
      );
      const isJudged = outcome.kind === "failed" && outcome.reason.includes("criteria");
      if (isJudged && isSound && last === "stop") assert.ok(!built || !prepared, outcome.reason);
    },
  );
  await holds(t, property, 60);
  t.diagnostic(`green: ${greens}`);
});
