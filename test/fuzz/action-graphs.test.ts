/**
 * Random documents of random graphs, with failures, delays and cancels, against a small reference. The reference
 * doesn't simulate time: it says, of what was seen, whether each action could have ended in the way in which it did.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActionEvent } from "../../src/events/action.ts";
import type { Tool } from "../../src/calls/tool.ts";
import { createActionExecutor } from "../../src/protocol/executor.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { holds } from "../rig/fuzz.ts";
import { documentOf, internal, type Json } from "../protocol/rig.ts";

interface Node {
  readonly id: string;
  readonly document: number;
  readonly tool: "safe" | "unsafe" | "other";
  readonly async: boolean;
  readonly seconds: number;
  readonly outcome: "succeeds" | "fails" | "hangs" | "throws";
  readonly byReference: boolean;
  /** Earlier nodes, also of earlier documents. */
  readonly requires: readonly string[];
  readonly group: string | undefined;
}

interface Case {
  readonly nodes: readonly Node[];
  readonly groups: ReadonlyMap<
    string,
    { readonly async: boolean; readonly requires: readonly string[] }
  >;
  readonly order: readonly (readonly string[])[];
  readonly cancels: readonly { readonly after: number; readonly id: string }[];
  readonly parallel: number;
}

const toolLimit = 50;
const documents = 3;
const perDocument = 7;

const cases: fc.Arbitrary<Case> = fc
  .record({
    nodes: fc.array(
      fc.record({
        tool: fc.constantFrom("safe", "safe", "unsafe", "other"),
        async: fc.boolean(),
        seconds: fc.nat(30),
        outcome: fc.constantFrom("succeeds", "succeeds", "succeeds", "fails", "hangs", "throws"),
        byReference: fc.boolean(),
        picks: fc.array(fc.nat(), { maxLength: 3 }),
        group: fc.option(fc.nat(1), { freq: 2 }),
      }),
      { minLength: 1, maxLength: documents * perDocument },
    ),
    groups: fc.array(
      fc.record({ async: fc.boolean(), picks: fc.array(fc.nat(), { maxLength: 1 }) }),
      {
        minLength: documents * 2,
        maxLength: documents * 2,
      },
    ),
    shuffle: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
    cancels: fc.array(fc.record({ after: fc.nat(60), pick: fc.nat() }), { maxLength: 3 }),
    parallel: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ nodes: drafts, groups: groupDrafts, shuffle, cancels, parallel }) => {
    const groups = new Map<
      string,
      { readonly async: boolean; readonly requires: readonly string[] }
    >();
    const nodes: Node[] = [];
    for (const [index, { picks, group, ...rest }] of drafts.entries()) {
      const document = Math.floor(index / perDocument);
      const groupId = group === null ? undefined : `g${document * 2 + group}`;
      // Only nodes that come before, and for groups only those of earlier documents: no circle is possible.
      const requires = [
        ...new Set(picks.flatMap((pick) => (index === 0 ? [] : [`n${pick % index}`]))),
      ];
      nodes.push({ id: `n${index}`, document, group: groupId, requires, ...rest });
      if (groupId === undefined || groups.has(groupId)) continue;
      const draft = groupDrafts[document * 2 + (group ?? 0)];
      const earlier = document * perDocument;
      groups.set(groupId, {
        async: draft?.async ?? false,
        requires: (draft?.picks ?? []).flatMap((pick) =>
          earlier === 0 ? [] : [`n${pick % earlier}`],
        ),
      });
    }
    const count = Math.ceil(nodes.length / perDocument);
    const order = Array.from({ length: count }, (_, document) => {
      const here = nodes.filter((node) => node.document === document).map(({ id }) => id);
      return here.toSorted(
        (a, b) => (shuffle[Number(a.slice(1))] ?? 0) - (shuffle[Number(b.slice(1))] ?? 0),
      );
    });
    const ids = [...nodes.map(({ id }) => id), ...groups.keys()];
    return {
      nodes,
      groups,
      order,
      parallel,
      cancels: cancels.map(({ after, pick }) => ({ after, id: ids[pick % ids.length] ?? "n0" })),
    };
  });

function documentsOf({ nodes, groups, order }: Case): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const actionOf = ({ id, tool, async, seconds, outcome, requires, byReference }: Node): Json => {
    const script = { seconds, outcome };
    const named = Object.fromEntries(requires.map((one) => [one, `\${{results.${one}.id}}`]));
    return {
      action_id: id,
      action: tool,
      type: "tool",
      execution: async ? "ASYNC" : "SYNC",
      params: byReference ? { ...script, named } : script,
      ...(byReference || requires.length === 0 ? {} : { depends_on: requires }),
    };
  };
  return order.map((ids) => {
    const members = new Map<string, Json[]>();
    const top: (Json | string)[] = [];
    for (const id of ids) {
      const node = byId.get(id);
      if (node === undefined) continue;
      if (node.group === undefined) top.push(actionOf(node));
      else if (members.get(node.group)?.push(actionOf(node)) === undefined) {
        members.set(node.group, [actionOf(node)]);
        top.push(node.group);
      }
    }
    return documentOf(
      top.map((one): Json => {
        if (typeof one !== "string") return one;
        const { async, requires } = groups.get(one) ?? { async: false, requires: [] };
        return {
          action_id: one,
          action: "group",
          type: "internal",
          execution: async ? "ASYNC" : "SYNC",
          sub_actions: members.get(one) ?? [],
          ...(requires.length === 0 ? {} : { depends_on: requires }),
        };
      }),
    );
  });
}

interface Seen {
  readonly calls: {
    readonly id: string;
    readonly tool: string;
    readonly from: number;
    to: number;
  }[];
  readonly events: ActionEvent[];
  readonly delivered: string[];
  readonly canceled: Set<string>;
  /** Largest number of calls at once. */
  most: number;
}

async function run(one: Case): Promise<Seen> {
  const clock = new FakeClock();
  const seen: Seen = { calls: [], events: [], delivered: [], canceled: new Set(), most: 0 };
  let tick = 0;
  let running = 0;
  const scripted = (name: string, parallelSafe: boolean): Tool => ({
    name,
    parameters: { type: "object" },
    parallelSafe,
    timeoutSeconds: toolLimit,
    run: async ({ id, params }, { signal }) => {
      const call = { id, tool: name, from: tick++, to: Number.POSITIVE_INFINITY };
      seen.calls.push(call);
      running += 1;
      seen.most = Math.max(seen.most, running);
      const { outcome, seconds } = params;
      await clock.sleep((outcome === "hangs" ? 1e6 : Number(seconds)) * 1000, signal);
      running -= 1;
      call.to = tick++;
      if (outcome === "throws") throw new Error("thrown");
      if (outcome === "fails") return { kind: "failed", reason: "failed" };
      return { kind: "succeeded", value: { id } };
    },
  });
  const executor = createActionExecutor({
    tools: [scripted("safe", true), scripted("unsafe", false), scripted("other", false)],
    clock,
    limits: { parallel: one.parallel },
    emit: (event) => seen.events.push(event),
  });
  const collect = async (): Promise<void> => {
    for (const { id } of (await executor.collect()).results) seen.delivered.push(id);
  };
  for (const [index, text] of documentsOf(one).entries()) {
    const turn = await clock.runUntil(executor.execute(text));
    assert.ok(turn.kind === "executed", JSON.stringify(turn));
    await collect();
    for (const [nth, { after, id }] of one.cancels.entries()) {
      if (nth % documents !== index || !executor.tasks().some((task) => task.id === id)) continue;
      await clock.runUntil(clock.sleep(after * 1000));
      seen.canceled.add(id);
      const cancel = internal(
        "task_manager",
        { operation: "cancel", ids: [id] },
        { action_id: `c${nth}` },
      );
      await clock.runUntil(executor.execute(documentOf([cancel])));
      await collect();
    }
  }
  const end = await clock.runUntil(executor.finish());
  for (const { id } of end.undelivered.results) seen.delivered.push(id);
  assert.equal(clock.waiting, 0, "no timer is left behind");
  return seen;
}

function check(one: Case, seen: Seen): void {
  const ended = new Map<string, string>();
  const atTheEnd = new Set<string>();
  const endedAt = new Map<string, number>();
  const startedAt = new Map<string, number>();
  for (const [at, event] of seen.events.entries()) {
    if (event.type === "action.started") startedAt.set(event.id, at);
    if (event.type !== "action.ended") continue;
    assert.ok(!ended.has(event.id), `${event.id} ended twice`);
    ended.set(event.id, event.status);
    if (event.reason === "The run ended.") atTheEnd.add(event.id);
    endedAt.set(event.id, at);
  }
  const statusOf = (id: string): string => ended.get(id) ?? "never ended";
  const called = new Map<string, number>();
  for (const { id } of seen.calls) called.set(id, (called.get(id) ?? 0) + 1);
  assert.ok(seen.most <= one.parallel, `${seen.most} at once`);

  const wasCanceled = ({ id, group }: Node): boolean =>
    atTheEnd.has(id) || seen.canceled.has(id) || (group !== undefined && seen.canceled.has(group));
  for (const node of one.nodes) {
    const { id, outcome, group } = node;
    const groupRequires = group === undefined ? [] : (one.groups.get(group)?.requires ?? []);
    const producers = [...node.requires, ...groupRequires];
    const unsuccessful = producers.some((producer) => statusOf(producer) !== "succeeded");
    const status = statusOf(id);
    assert.ok((called.get(id) ?? 0) <= 1, `${id} ran twice`);
    if (unsuccessful) {
      assert.ok(!called.has(id), `${id} ran although a producer did not succeed`);
      assert.ok(
        status === "skipped" || (status === "cancelled" && wasCanceled(node)),
        `${id} is ${status}`,
      );
      continue;
    }
    if (status === "cancelled") {
      assert.ok(wasCanceled(node), `${id} is cancelled`);
      continue;
    }
    const expected = {
      succeeds: "succeeded",
      fails: "failed",
      throws: "failed",
      hangs: "timed_out",
    }[outcome];
    assert.equal(status, expected, id);
    assert.equal(called.get(id), 1, `${id} did not run`);
    for (const producer of producers) {
      assert.ok(
        (endedAt.get(producer) ?? Infinity) < (startedAt.get(id) ?? -1),
        `${id} before ${producer}`,
      );
    }
  }
  for (const group of one.groups.keys()) {
    const members = one.nodes.filter((node) => node.group === group);
    const all = members.every(({ id }) => statusOf(id) === "succeeded");
    assert.equal(statusOf(group) === "succeeded", all && members.length > 0, group);
    for (const { id } of members) {
      if (startedAt.has(group)) {
        assert.ok(
          (endedAt.get(id) ?? Infinity) < (endedAt.get(group) ?? -1),
          `${group} before ${id}`,
        );
      }
    }
  }

  // What is not parallelSafe overlaps with no other call of its tool…
  const overlap = (a: (typeof seen.calls)[number], b: typeof a): boolean =>
    a.from < b.to && b.from < a.to;
  const nodeOf = new Map(one.nodes.map((node) => [node.id, node]));
  for (const [index, a] of seen.calls.entries()) {
    for (const b of seen.calls.slice(index + 1)) {
      if (a.tool === b.tool && a.tool !== "safe") assert.ok(!overlap(a, b), `${a.id} and ${b.id}`);
      // …and with no SYNC sibling.
      const [x, y] = [nodeOf.get(a.id), nodeOf.get(b.id)];
      if (x === undefined || y === undefined || x.async || y.async) continue;
      if (x.document !== y.document || x.group !== y.group) continue;
      if (a.tool !== "safe" || b.tool !== "safe") assert.ok(!overlap(a, b), `${a.id} and ${b.id}`);
    }
  }

  const top = [
    ...one.nodes.filter(({ group }) => group === undefined).map(({ id }) => id),
    ...one.groups.keys(),
  ];
  const delivered = seen.delivered.filter((id) => !/^c\d/.test(id));
  assert.deepEqual(delivered.sort(), top.sort(), "each result is delivered once");
}

test("random graphs run as the reference says", async (t) => {
  const ends = new Map<string, number>();
  await holds(
    t,
    fc.asyncProperty(cases, async (one) => {
      const seen = await run(one);
      check(one, seen);
      for (const event of seen.events) {
        if (event.type === "action.ended")
          ends.set(event.status, (ends.get(event.status) ?? 0) + 1);
      }
    }),
    60,
  );
  t.diagnostic(JSON.stringify([...ends]));
  assert.deepEqual([...ends.keys()].sort(), [
    "cancelled",
    "failed",
    "skipped",
    "succeeded",
    "timed_out",
  ]);
});
