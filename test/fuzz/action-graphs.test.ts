/**
 * Random documents of random graphs, with failures, delays and cancels, against a small reference. The reference
 * doesn't simulate time: it says, of what was seen, whether each action could have ended in the way in which it did.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActionEvent } from "../../src/events/action.ts";
import type { CallContext, Relic, Tool, ToolOutcome } from "../../src/tools/tool.ts";
import { createActionExecutor } from "../../src/protocol/executor.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { holds } from "../rig/fuzz.ts";
import { documentOf, internal, type Json } from "../protocol/rig.ts";
import { type Case, cases, type Group, type Node, pathOf, toolLimit } from "./action-cases.ts";

const runEnded = "The run ended.";
const turnCanceled = "The turn was canceled.";

interface Call {
  readonly id: string;
  readonly from: number;
  to: number;
}

interface Seen {
  readonly calls: Call[];
  readonly events: ActionEvent[];
  readonly delivered: string[];
  readonly canceled: Set<string>;
  /** Largest number of calls at once. */
  most: number;
}

function documentsOf({ nodes, groups, order, cancels }: Case): string[] {
  const actionOf = ({ id, tool, async, seconds, outcome, requires, byReference }: Node): Json => {
    const script = { id, seconds, outcome };
    const named = Object.fromEntries(requires.map((one) => [one, `\${{results.${one}.id}}`]));
    const params = byReference ? { ...script, named } : script;
    return {
      action_id: id,
      action: tool,
      type: tool === "relic" ? "relic" : "tool",
      execution: async ? "ASYNC" : "SYNC",
      params: tool === "relic" ? { query: JSON.stringify(params) } : params,
      ...(byReference || requires.length === 0 ? {} : { depends_on: requires }),
    };
  };
  return order.map((ids, document) => {
    const members = new Map<string | undefined, Json[]>([[undefined, []]]);
    /** The list of the members of a group, which is put into the list of its parent at its first member. */
    const listOf = (group: string | undefined): Json[] => {
      const known = members.get(group);
      if (known !== undefined || group === undefined) return known ?? [];
      const list: Json[] = [];
      members.set(group, list);
      const { async, requires, parent } = groups.get(group) ?? assert.fail();
      listOf(parent).push({
        action_id: group,
        action: "group",
        type: "internal",
        execution: async ? "ASYNC" : "SYNC",
        sub_actions: list,
        ...(requires.length === 0 ? {} : { depends_on: requires }),
      });
      return list;
    };
    for (const id of ids) {
      const node = nodes.get(id) ?? assert.fail();
      listOf(node.group).push(actionOf(node));
    }
    const top = listOf(undefined);
    for (const [nth, cancel] of cancels.entries()) {
      if (cancel.document !== document || cancel.when !== "beside") continue;
      const params = { operation: "cancel", ids: [cancel.id] };
      top.splice(
        cancel.after % (top.length + 1),
        0,
        internal("task_manager", params, { action_id: `x${nth}` }),
      );
    }
    return documentOf(top);
  });
}

async function run(one: Case): Promise<Seen> {
  const clock = new FakeClock();
  const seen: Seen = { calls: [], events: [], delivered: [], canceled: new Set(), most: 0 };
  let tick = 0;
  let running = 0;
  const called = async (params: Json, { signal }: CallContext): Promise<ToolOutcome> => {
    const { id, outcome, seconds } = params;
    const call: Call = { id: String(id), from: tick++, to: Number.POSITIVE_INFINITY };
    seen.calls.push(call);
    running += 1;
    seen.most = Math.max(seen.most, running);
    await clock.sleep((outcome === "hangs" ? 1e6 : Number(seconds)) * 1000, signal);
    running -= 1;
    call.to = tick++;
    if (outcome === "throws") throw new Error("thrown");
    if (outcome === "fails") return { kind: "failed", reason: "failed" };
    return { kind: "succeeded", value: { id } };
  };
  const scripted = (name: string, parallelSafe: boolean): Tool => ({
    name,
    parameters: { type: "object" },
    parallelSafe,
    timeoutSeconds: toolLimit,
    run: ({ params }, context) => called(params, context),
  });
  const relic: Relic = {
    name: "relic",
    read: (query = "", context) => called(JSON.parse(query), context),
  };
  const executor = createActionExecutor({
    tools: [scripted("safe", true), scripted("unsafe", false), scripted("other", false)],
    relics: [relic],
    clock,
    limits: { parallel: one.parallel, toolSeconds: toolLimit },
    emit: (event) => seen.events.push(event),
  });
  const collect = async (): Promise<void> => {
    for (const { id } of (await executor.collect()).results) seen.delivered.push(id);
  };
  const texts = documentsOf(one);
  for (const [index, text] of texts.entries()) {
    const turn = new AbortController();
    const timer = new AbortController();
    for (const { document, when, after, id } of one.cancels) {
      if (document !== index) continue;
      if (when === "beside") seen.canceled.add(id);
      if (when === "turn") {
        void clock.sleep(after * 1000, timer.signal).then(() => {
          if (!timer.signal.aborted) turn.abort();
        });
      }
    }
    const executed = await clock.runUntil(executor.execute(text, { signal: turn.signal }));
    timer.abort();
    assert.ok(executed.kind === "executed", JSON.stringify(executed));
    await collect();
    for (const [nth, { document, when, after, id }] of one.cancels.entries()) {
      if (document !== index || when !== "later") continue;
      await clock.runUntil(clock.sleep(after * 1000));
      seen.canceled.add(id);
      const params = { operation: "cancel", ids: [id] };
      const cancel = internal("task_manager", params, { action_id: `x${nth}` });
      await clock.runUntil(executor.execute(documentOf([cancel])));
      await collect();
    }
  }
  const end = await clock.runUntil(executor.finish());
  for (const { id } of end.undelivered.results) seen.delivered.push(id);

  // A replay of these documents calls nothing.
  const { calls, events } = seen;
  const before = [calls.length, events.length];
  for (const text of texts) await clock.runUntil(executor.execute(text));
  await clock.runUntil(executor.finish());
  assert.deepEqual(calls.slice(before[0]), [], "a replay calls something");
  events.length = before[1] ?? 0;
  assert.equal(clock.waiting, 0, "no timer is left behind");
  return seen;
}

function check(one: Case, seen: Seen): void {
  const { nodes, groups } = one;
  const ended = new Map<string, Extract<ActionEvent, { type: "action.ended" }>>();
  const endedAt = new Map<string, number>();
  const startedAt = new Map<string, number>();
  for (const [at, event] of seen.events.entries()) {
    if (event.type === "action.started") startedAt.set(event.id, at);
    if (event.type !== "action.ended") continue;
    assert.ok(!ended.has(event.id), `${event.id} ended twice`);
    ended.set(event.id, event);
    endedAt.set(event.id, at);
  }
  const statusOf = (id: string): string => ended.get(id)?.status ?? "never ended";
  const isBefore = (first: string, second: string): boolean =>
    (endedAt.get(first) ?? Infinity) < (startedAt.get(second) ?? -1);
  const calls = new Map(seen.calls.map((call) => [call.id, call]));
  assert.equal(calls.size, seen.calls.length, "an action was called twice");
  assert.ok(seen.most <= one.parallel, `${seen.most} at once`);

  const abortable = new Set(
    one.cancels.flatMap(({ when, document }) => (when === "turn" ? [document] : [])),
  );
  /** Whether somebody asked for it. */
  const wasCanceled = (id: string, { document }: Node | Group): boolean => {
    const path = pathOf(one, id);
    const [outermost = ""] = path;
    const top = nodes.get(outermost) ?? groups.get(outermost);
    return (
      path.some((name) => seen.canceled.has(name)) ||
      ended.get(id)?.reason === runEnded ||
      (ended.get(id)?.reason === turnCanceled && abortable.has(document) && top?.async === false)
    );
  };
  const producersOf = (id: string): readonly string[] =>
    pathOf(one, id).flatMap((name) => (nodes.get(name) ?? groups.get(name))?.requires ?? []);

  for (const [id, item] of [...nodes, ...groups]) {
    const status = statusOf(id);
    const isNode = nodes.has(id);
    if (producersOf(id).some((producer) => statusOf(producer) !== "succeeded")) {
      assert.ok(!startedAt.has(id) && !calls.has(id), `${id} started without its producers`);
      const fits = status === "skipped" || (status === "cancelled" && wasCanceled(id, item));
      assert.ok(fits, `${id} is ${status}`);
      continue;
    }
    if (status === "cancelled") {
      assert.ok(wasCanceled(id, item), `${id} is cancelled`);
      continue;
    }
    for (const producer of producersOf(id)) {
      assert.ok(isBefore(producer, id), `${id} before ${producer}`);
    }
    if ("outcome" in item) {
      const { outcome } = item;
      const expected = {
        succeeds: "succeeded",
        fails: "failed",
        throws: "failed",
        hangs: "timed_out",
      };
      assert.equal(status, expected[outcome], id);
      assert.ok(calls.has(id), `${id} did not run`);
    }
    const members = [...nodes, ...groups].flatMap(([name, { group }]) =>
      group === id ? [name] : [],
    );
    if (isNode) continue;
    const all = members.every((member) => statusOf(member) === "succeeded");
    assert.equal(status, all ? "succeeded" : "failed", id);
    for (const member of members) {
      const [first = Infinity, last = -1] = [endedAt.get(member), endedAt.get(id)];
      assert.ok(first < last, `${id} ended before ${member}`);
      assert.ok(
        (startedAt.get(id) ?? Infinity) < (startedAt.get(member) ?? Infinity),
        `${member} before ${id}`,
      );
    }
  }
  checkOrder(one, calls);

  const top = [...nodes, ...groups].flatMap(([id, { group }]) => (group === undefined ? [id] : []));
  const delivered = seen.delivered.filter((id) => !id.startsWith("x"));
  assert.deepEqual(delivered.sort(), top.sort(), "each result is delivered once");
}

/** The order of siblings that are not all `parallelSafe`, and of calls of a tool that isn't. */
function checkOrder(one: Case, calls: ReadonlyMap<string, Call>): void {
  const { nodes, groups } = one;
  const isSafe = (id: string): boolean => ["safe", "relic"].includes(nodes.get(id)?.tool ?? "");
  const leaves = [...nodes.keys()];
  for (const a of calls.values()) {
    for (const b of calls.values()) {
      const isSame = nodes.get(a.id)?.tool === nodes.get(b.id)?.tool && !isSafe(a.id);
      if (a.from < b.from && isSame) assert.ok(a.to < b.from, `${a.id} overlaps with ${b.id}`);
    }
  }
  for (const listed of one.order) {
    const order = inDocumentOrder(one, listed);
    // An action's requirements go first, whatever the order of the document, so no simple rule holds.
    const place = new Map(order.map((id, index) => [id, index]));
    const isForward = order.some((id) =>
      (nodes.get(id)?.requires ?? []).some(
        (producer) => (place.get(producer) ?? -1) > (place.get(id) ?? 0),
      ),
    );
    if (isForward) continue;
    const pairs = order.flatMap((first, index) =>
      order.slice(index + 1).map((second) => [first, second] as const),
    );
    for (const [first, second] of pairs) {
      const [a, b] = [pathOf(one, first), pathOf(one, second)];
      const level = a.findIndex((name, index) => name !== b[index]);
      const [earlier = "", later = ""] = [a[level], b[level]];
      const within = leaves.filter((id) =>
        pathOf(one, id).some((name) => name === earlier || name === later),
      );
      const inBackground = (nodes.get(earlier) ?? groups.get(earlier))?.async === true;
      const sameUnsafe = nodes.get(first)?.tool === nodes.get(second)?.tool && !isSafe(first);
      if (inBackground ? !sameUnsafe : within.every(isSafe)) continue;
      const [x, y] = [calls.get(first), calls.get(second)];
      if (x !== undefined && y !== undefined) assert.ok(x.to < y.from, `${second} before ${first}`);
    }
  }
}

/** The nodes in the order in which the document has them: groups are at the place of their first member. */
function inDocumentOrder(one: Case, order: readonly string[]): readonly string[] {
  const firstOf = new Map<string, number>();
  for (const [index, id] of order.entries()) {
    for (const name of pathOf(one, id)) if (!firstOf.has(name)) firstOf.set(name, index);
  }
  const keyOf = (id: string): number[] => pathOf(one, id).map((name) => firstOf.get(name) ?? 0);
  return order.toSorted((first, second) => {
    const [a, b] = [keyOf(first), keyOf(second)];
    const level = a.findIndex((value, index) => value !== b[index]);
    return level === -1 ? 0 : (a[level] ?? 0) - (b[level] ?? 0);
  });
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
    120,
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
