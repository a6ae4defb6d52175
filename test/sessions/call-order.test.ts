/** The order of calls, without a runtime; `test/fuzz/call-order.test.ts` plays it at random. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionEvent } from "@github/copilot-sdk";
import { SharedFolders } from "../../src/sessions/call-order.ts";
import type { CallOrder } from "../../src/sessions/call-order.ts";
import { orderedPermissionHandler, realFiles } from "../../src/sessions/permission-handler.ts";
import { FakeClock } from "../rig/fake-clock.ts";

function event(type: string, data: object = {}): SessionEvent {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return { type, data } as SessionEvent;
}

class Runtime {
  readonly clock = new FakeClock();
  readonly folders = new SharedFolders(this.clock);
  shells = 0;

  session(): CallOrder {
    const order = this.folders.join("/folder", { shell: ["x *"], write: ["**"] }, () =>
      Promise.resolve(this.shells),
    );
    assert.ok(order !== undefined);
    return order;
  }
}

function start(
  order: CallOrder,
  id: string,
  toolName: string,
  given: object = {},
  agentId?: string,
): void {
  const begun = event("tool.execution_start", { toolCallId: id, toolName, arguments: given });
  order.accept({ ...begun, ...(agentId === undefined ? {} : { agentId }) });
}

function complete(order: CallOrder, id: string): void {
  order.accept(event("tool.execution_complete", { toolCallId: id, success: true }));
}

describe("the order of calls", () => {
  it("refuses a file tool beside a command that runs on, and serves it once that has ended", async () => {
    const runtime = new Runtime();
    const { clock } = runtime;
    const order = runtime.session();
    start(order, "c", "bash");
    assert.equal(await order.ask("c", "command"), undefined);
    runtime.shells = 1;
    complete(order, "c");
    start(order, "v", "view");
    assert.match((await clock.runUntil(order.ask("v", "read"))) ?? "", /still running/);
    start(order, "w", "view");
    assert.match((await clock.runUntil(order.ask("w", "read"))) ?? "", /still running/);
    // No event arrives, and no call was waiting.
    runtime.shells = 0;
    start(order, "x", "view");
    assert.equal(await clock.runUntil(order.ask("x", "read")), undefined);
    assert.ok(clock.now() < 10_000);
  });

  it("does not take a shell that is starting, and warns of its locale, for a command that has ended", async () => {
    const runtime = new Runtime();
    const { clock } = runtime;
    const order = runtime.session();
    start(order, "c", "bash");
    start(order, "v", "view");
    assert.equal(await order.ask("c", "command"), undefined);
    let servedAt = Number.NaN;
    const asked = order.ask("v", "read").then((reason) => {
      servedAt = clock.now();
      return reason;
    });
    order.accept(event("tool.execution_partial_result", { toolCallId: "c" }));
    await clock.runUntil(clock.sleep(400));
    runtime.shells = 1;
    await clock.runUntil(clock.sleep(5_000));
    assert.ok(Number.isNaN(servedAt), "it was served beside the command");
    runtime.shells = 0;
    assert.equal(await clock.runUntil(asked), undefined);
  });

  it("waits a moment at most for a command that has ended before its shell was seen", async () => {
    const runtime = new Runtime();
    const { clock } = runtime;
    const order = runtime.session();
    start(order, "c", "bash");
    start(order, "v", "view");
    assert.equal(await order.ask("c", "command"), undefined);
    order.accept(event("tool.execution_partial_result", { toolCallId: "c" }));
    assert.equal(await clock.runUntil(order.ask("v", "read")), undefined);
    assert.ok(clock.now() <= 1_500, `${clock.now()} ms`);
  });

  it("forgets no call because the runtime sends something in the middle of a turn", async () => {
    const runtime = new Runtime();
    const [order, other] = [runtime.session(), runtime.session()];
    start(order, "v", "view");
    assert.equal(await order.ask("v", "read"), undefined);
    order.accept(event("user.message"));
    start(other, "c", "bash");
    let served = false;
    const asked = other.ask("c", "command").then((reason) => {
      served = true;
      return reason;
    });
    await runtime.clock.sleep(0, AbortSignal.abort());
    assert.equal(served, false, "the view is at work still");
    complete(order, "v");
    assert.equal(await runtime.clock.runUntil(asked), undefined);
  });

  it("refuses what asks under the name of another call, or of none", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    start(order, "twice", "view");
    start(order, "twice", "bash");
    start(order, "view", "view");
    assert.match((await order.ask("twice", "command")) ?? "", /same id/);
    assert.match((await order.ask("view", "command")) ?? "", /differs from what was announced/);
    const unknown = runtime.clock.runUntil(order.ask("unknown", "read"));
    assert.match((await unknown) ?? "", /was not announced/);
    assert.match((await order.ask(undefined, "read")) ?? "", /was not announced/);
  });

  it("waits for the announcement of what a sub-agent calls", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    const view = order.ask("view", "read");
    const edit = order.ask("edit", "write");
    start(order, "view", "view", {}, "sub-agent");
    start(order, "edit", "edit", {}, "sub-agent");
    assert.deepEqual(await Promise.all([view, edit]), [undefined, undefined]);
  });

  it("refuses an edit of a sub-agent that may have been prepared beside a command", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    const edited = async (id: string): Promise<string> => {
      start(order, id, "edit", {}, "sub-agent");
      return (await runtime.clock.runUntil(order.ask(id, "write"))) ?? "";
    };
    start(order, "c", "bash");
    assert.equal(await order.ask("c", "command"), undefined);
    order.accept(
      event("tool.execution_complete", { toolCallId: "c", shellExecution: { exitCode: 0 } }),
    );
    assert.match(await edited("soon"), /a command has run since this change was prepared/);
    await runtime.clock.runUntil(runtime.clock.sleep(6_000));
    assert.equal(await edited("later"), "");
  });

  it("refuses a command behind a file tool of the same answer, whichever of them asks first", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    start(order, "w", "create");
    start(order, "c", "bash");
    assert.match((await order.ask("c", "command")) ?? "", /of the same answer/);
    assert.equal(await order.ask("w", "write"), undefined);
    start(order, "d", "bash");
    assert.match((await order.ask("d", "command")) ?? "", /of the same answer/);
    const reader = runtime.session();
    start(reader, "v", "view");
    assert.equal(await reader.ask("v", "read"), undefined);
    start(reader, "e", "bash");
    assert.match((await reader.ask("e", "command")) ?? "", /of the same answer/);
  });

  it("lets no command run beside one that was judged by its paths", async () => {
    for (const kinds of [
      ["path-command", "command"],
      ["command", "path-command"],
      ["path-command", "path-command"],
    ] as const) {
      const runtime = new Runtime();
      const [order, other] = [runtime.session(), runtime.session()];
      start(order, "a", "bash");
      start(other, "b", "bash");
      assert.equal(await order.ask("a", kinds[0]), undefined);
      runtime.shells = 1;
      let served = false;
      const asked = other.ask("b", kinds[1]).then((reason) => {
        served = true;
        return reason;
      });
      await runtime.clock.sleep(0, AbortSignal.abort());
      assert.equal(served, false, kinds.join(" and "));
      order.withdraw("a");
      assert.equal(await runtime.clock.runUntil(asked), undefined);
    }
    const runtime = new Runtime();
    const [order, other] = [runtime.session(), runtime.session()];
    start(order, "a", "bash");
    start(other, "b", "bash");
    assert.equal(await order.ask("a", "command"), undefined);
    assert.equal(await other.ask("b", "command"), undefined, "neither was judged by its paths");
  });

  it("does not wait for a command of which no shell was ever seen", async () => {
    const runtime = new Runtime();
    const [order, other] = [runtime.session(), runtime.session()];
    start(order, "c", "bash");
    assert.equal(await order.ask("c", "command"), undefined);
    start(other, "v", "view");
    const asked = runtime.clock.runUntil(other.ask("v", "read"));
    assert.match((await asked) ?? "", /still running/);
    assert.ok(runtime.clock.now() < 60_000, `${runtime.clock.now()} ms`);
  });

  it("serves nothing while a turn is being aborted", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    start(order, "c", "bash");
    assert.equal(await order.ask("c", "command"), undefined);
    start(order, "v", "view");
    const waiting = order.ask("v", "read");
    order.interrupt();
    assert.match((await waiting) ?? "", /the turn was canceled/);
    start(order, "w", "view");
    assert.match((await order.ask("w", "read")) ?? "", /the turn was canceled/);
  });

  it("refuses more calls than it keeps", async () => {
    const runtime = new Runtime();
    const order = runtime.session();
    for (let index = 0; index <= 4_096; index += 1) start(order, `v${index}`, "view");
    assert.equal(await order.ask("v4095", "read"), undefined);
    const last = await runtime.clock.runUntil(order.ask("v4096", "read"));
    assert.match(last ?? "", /was not announced/);
  });

  it("waits for no announcement after the end of a turn or a session", async () => {
    for (const end of ["interrupt", "leave"] as const) {
      const order = new Runtime().session();
      const asked = order.ask("view", "read");
      order[end]();
      assert.match((await asked) ?? "", /was not announced/);
    }
  });

  it("refuses commands in the background, however that is written", async () => {
    const order = new Runtime().session();
    for (const [index, given] of [
      { mode: "async" },
      { mode: "ASYNC" },
      { mode: null },
      { mode: "sync", detach: true },
      { detach: "false" },
    ].entries()) {
      start(order, `${index}`, "bash", given);
      assert.match((await order.ask(`${index}`, "command")) ?? "", /background/);
    }
    start(order, "plain", "bash", { mode: "sync", detach: false });
    assert.equal(await order.ask("plain", "command"), undefined);
  });

  it("leaves those alone who may run any command, or work elsewhere", async () => {
    const runtime = new Runtime();
    for (const permissions of ["workspace", "all", { shell: true }] as const) {
      assert.equal(
        runtime.folders.join("/folder", permissions, () => Promise.resolve(0)),
        undefined,
      );
    }
    const here = runtime.session();
    start(here, "c", "bash");
    assert.equal(await here.ask("c", "command"), undefined);
    const elsewhere = runtime.folders.join("/other", "read-only", () => Promise.resolve(0));
    assert.equal(await elsewhere?.ask(undefined, "read"), undefined);
  });
});

describe("a command that can replace files with links", () => {
  /** What the ordered handler answers, and how often it has noted such a command. */
  function asking() {
    const order = new Runtime().session();
    let moves = 0;
    const handle = orderedPermissionHandler(
      {
        permissions: { shell: ["git *"] },
        workingDirectory: process.cwd(),
        onActivity: () => undefined,
        files: { ...realFiles, wasMoved: () => moves > 0, onMove: () => void (moves += 1) },
      },
      order,
    );
    let calls = 0;
    const ask = async (fullCommandText: string, given: object = {}): Promise<boolean> => {
      const toolCallId = `c${(calls += 1)}`;
      start(order, toolCallId, "bash", given);
      const { kind } = await handle({
        kind: "shell",
        toolCallId,
        fullCommandText,
        intention: "",
        commands: [],
        possiblePaths: [],
        possibleUrls: [],
        hasWriteFileRedirection: false,
        canOfferSessionApproval: false,
      });
      complete(order, toolCallId);
      order.accept(event("assistant.turn_end"));
      return kind === "approve-once";
    };
    return { ask, moves: () => moves };
  }

  for (const line of [
    "git grep -n x; git checkout -b fix",
    "git grep -n x && git stash",
    "git rm -r docs; git stash",
  ]) {
    it(`doesn't speak against what is before it in its own line: ${line}`, async () => {
      const { ask, moves } = asking();
      assert.equal(await ask(line), true);
      assert.equal(moves(), 1);
    });
  }

  it("counts for a later line, and only if it may run", async () => {
    const { ask, moves } = asking();
    assert.equal(await ask("git checkout x", { mode: "async" }), false);
    assert.equal(moves(), 0);
    assert.equal(await ask("git grep -n x"), true);
    assert.equal(await ask("git checkout x"), true);
    assert.equal(moves(), 1);
    assert.equal(await ask("git grep -n x"), false);
    assert.equal(await ask("git grep --cached -n x"), true);
  });
});
