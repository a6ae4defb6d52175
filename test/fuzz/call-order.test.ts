/** Random answers of several sessions in one folder, at random speeds: file tools and commands never overlap, and all answers end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEvent } from "@github/copilot-sdk";
import * as fc from "fast-check";
import { SharedFolders } from "../../src/sessions/call-order.ts";
import type { CallKind } from "../../src/sessions/announced-call.ts";
import type { CallOrder } from "../../src/sessions/call-order.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { holds } from "../rig/fuzz.ts";

interface Planned {
  /** `cat`: a command that was judged by the paths it names. */
  readonly tool: "bash" | "cat" | "view" | "edit" | "create";
  /** Milliseconds until it asks; undefined: its arguments are bad, it never does. */
  readonly asksAfter: number | undefined;
  readonly startsAfter: number;
  readonly takes: number;
  /** The call ends after that time, whether the command has ended or not. */
  readonly patience: number;
  readonly denied: boolean;
}

interface Answer {
  readonly calls: readonly Planned[];
  /** Of a sub-agent: each call is announced at some time, perhaps after it has asked. */
  readonly announcedAfter: readonly number[] | undefined;
  /** Milliseconds until the turn is aborted. */
  readonly abortAfter: number | undefined;
}

const short = fc.oneof(fc.nat(20), fc.nat(4_000));
const long = fc.oneof(short, fc.constantFrom(29_000, 60_000, 1_200_000));

/** What up to three sessions do, with calls that take so long. */
function sessions(takes: fc.Arbitrary<number>): fc.Arbitrary<Answer[][]> {
  const planned: fc.Arbitrary<Planned> = fc.record({
    tool: fc.constantFrom("bash", "cat", "view", "view", "edit", "create"),
    asksAfter: fc.oneof({ weight: 9, arbitrary: fc.nat(30) }, fc.constant(undefined)),
    startsAfter: fc.nat(100),
    takes,
    patience: fc.constantFrom(30_000, 600_000),
    denied: fc.nat(5).map((n) => n === 0),
  });
  const answer: fc.Arbitrary<Answer> = fc.record({
    calls: fc.array(planned, { minLength: 1, maxLength: 6 }),
    announcedAfter: fc.option(fc.array(fc.nat(100), { minLength: 6, maxLength: 6 }), {
      nil: undefined,
      freq: 2,
    }),
    abortAfter: fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, fc.nat(5_000)),
  });
  const answers = fc.array(answer, { minLength: 1, maxLength: 3 });
  return fc.array(answers, { minLength: 1, maxLength: 3 });
}

/** What the SDK would send; only what is looked at. */
function event(type: string, data: object = {}): SessionEvent {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return { type, data } as SessionEvent;
}

const kinds: Readonly<Record<Planned["tool"], CallKind>> = {
  bash: "command",
  cat: "path-command",
  view: "read",
  edit: "write",
  create: "write",
};

class World {
  readonly clock = new FakeClock();
  readonly folders = new SharedFolders(this.clock);
  /** What really is at work in the folder. */
  commands = 0;
  pathCommands = 0;
  files = 0;
  /** How many commands have ever been at work. */
  commandsEver = 0;
  used = 0;
  refused = 0;

  async play(answers: readonly Answer[]): Promise<void> {
    let shells = 0;
    const order = this.folders.join("/folder", { shell: ["x *"], write: ["**"] }, async () => {
      const seen = shells;
      await this.clock.sleep(3);
      return seen;
    });
    assert.ok(order !== undefined);
    const left: Promise<void>[] = [];
    for (const [index, { calls, announcedAfter, abortAfter }] of answers.entries()) {
      const ids = calls.map((_, n) => `${index}-${n}`);
      order.accept(event("user.message"));
      const announced = calls.map(async ({ tool }, n) => {
        const toolName = tool === "cat" ? "bash" : tool;
        const start = event("tool.execution_start", { toolCallId: ids[n], toolName });
        const after = announcedAfter?.[n];
        if (after === undefined) return order.accept(start);
        await this.clock.sleep(after);
        order.accept({ ...start, agentId: "sub-agent" });
      });
      const began = calls.map(({ tool }) => (tool === "edit" ? this.commandsEver : 0));
      const beside = this.commands > 0;
      const ended = new AbortController();
      if (abortAfter !== undefined) {
        void this.clock.sleep(abortAfter, ended.signal).then(() => {
          if (!ended.signal.aborted) order.interrupt();
        });
      }
      const exits = await Promise.all(
        calls.map(async (call, n) => {
          const id = ids[n] ?? "";
          if (call.asksAfter === undefined) return false;
          await this.clock.sleep(call.asksAfter);
          const reason = await order.ask(id, kinds[call.tool]);
          if (reason !== undefined) {
            this.refused += 1;
            return false;
          }
          if (call.denied) {
            order.withdraw(id);
            return false;
          }
          this.used += 1;
          if (call.tool !== "bash" && call.tool !== "cat") {
            if (call.tool === "edit") {
              assert.equal(beside, false, "an edit was prepared beside a command");
              assert.equal(began[n], this.commandsEver, "a command ran after an edit was prepared");
            }
            await this.#useFile(Math.min(call.takes, 5_000));
            return false;
          }
          const shell = this.#useShell(order, id, call, (change) => (shells += change));
          left.push(shell);
          const patience = this.clock.sleep(call.patience).then(() => false);
          return Promise.race([shell.then(() => true), patience]);
        }),
      );
      ended.abort();
      await Promise.all(announced);
      for (const [n, toolCallId] of ids.entries()) {
        const shellExecution = exits[n] === true ? { exitCode: 0 } : undefined;
        order.accept(event("tool.execution_complete", { toolCallId, shellExecution }));
      }
    }
    order.accept(event("session.idle"));
    // The session ends what still runs, then it leaves.
    await Promise.all(left);
    order.leave();
  }

  async #useFile(takes: number): Promise<void> {
    this.files += 1;
    assert.equal(this.commands, 0, "a file tool began beside a command");
    await this.clock.sleep(takes);
    this.files -= 1;
  }

  async #useShell(
    order: CallOrder,
    toolCallId: string,
    { tool, startsAfter, takes }: Planned,
    shells: (change: number) => void,
  ): Promise<void> {
    const others = tool === "cat" ? this.commands : this.pathCommands;
    assert.equal(others, 0, "a command that was judged by paths overlaps with another");
    this.commands += 1;
    this.commandsEver += 1;
    if (tool === "cat") this.pathCommands += 1;
    assert.equal(this.files, 0, "a command began beside a file tool");
    await this.clock.sleep(startsAfter);
    shells(1);
    order.accept(event("session.background_tasks_changed"));
    await this.clock.sleep(takes);
    this.commands -= 1;
    if (tool === "cat") this.pathCommands -= 1;
    order.accept(event("tool.execution_partial_result", { toolCallId }));
    shells(-1);
    order.accept(event("session.background_tasks_changed"));
  }
}

for (const [name, takes, bound, cases] of [
  ["every answer ends", long, 4 * 3_600_000, 40],
  ["no call waits for one that waits for it", short, 120_000, 250],
] as const) {
  test(`file tools and commands never overlap, and ${name}`, async (t) => {
    let used = 0;
    let refused = 0;
    const property = fc.asyncProperty(sessions(takes), async (plans) => {
      const world = new World();
      await world.clock.runUntil(Promise.all(plans.map((answers) => world.play(answers))));
      assert.equal(world.commands + world.files, 0);
      assert.ok(world.clock.now() < bound, `it took ${world.clock.now() / 1000} s`);
      used += world.used;
      refused += world.refused;
    });
    await holds(t, property, cases);
    t.diagnostic(`${used} calls at work, ${refused} refused`);
    assert.ok(used > refused, "most calls are served");
  });
}
