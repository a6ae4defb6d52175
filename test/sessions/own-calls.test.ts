/** Tools whose handlers run in this process, on the real runtime: how long their calls may take, and what is seen of them. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { SessionTool, SessionToolCall, ToolAnswer } from "../../src/engine/ports.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import {
  completed,
  crashOf,
  denials,
  makeRig,
  sharedRig,
  skippingClock,
  turn,
  until,
} from "./rig.ts";

type Run = (call: SessionToolCall) => ToolAnswer | Promise<ToolAnswer>;

function tool(run: Run, more: Partial<SessionTool> = {}): SessionTool {
  return {
    name: "docs/search",
    description: "Searches the documentation.",
    parameters: { type: "object", properties: { query: { type: "string" } } },
    allowed: "always",
    run: (_given, call) => run(call),
    ...more,
  };
}

/** Settles when its signal aborts. */
const untilStopped = ({ signal }: SessionToolCall): Promise<ToolAnswer> =>
  new Promise((resolve) => {
    const stop = (): void => resolve({ succeeded: false, text: "stopped" });
    signal.addEventListener("abort", stop, { once: true });
  });

const callOnce = ({ toolResults }: { readonly toolResults: readonly string[] }) =>
  toolResults.length > 0
    ? { text: `It said: ${toolResults[0]}` }
    : { toolCalls: [{ id: "call-1", name: "docs-search", arguments: { query: "x" } }] };

const asking = (one: SessionTool): SessionTool => {
  const { allowed: _, ...rest } = one;
  return rest;
};

const docs = tool(() => ({ succeeded: true, text: "found" }));

describe("a tool of a server", () => {
  it("is known to the model as a function, and everywhere else by its own name", async (t) => {
    const rig = await sharedRig(t, callOnce);
    const session = await rig.open({
      tools: [asking(docs)],
      permissions: { preset: "read-only", tools: ["docs/search"] },
    });
    const run = await turn(session, "Search");
    const { toolCalls, text } = completed(run);
    assert.deepEqual(toolCalls, [
      { name: "docs/search", arguments: { query: "x" }, succeeded: true },
    ]);
    assert.equal(text, "It said: found");
    assert.deepEqual(
      run.activities.flatMap((one) => {
        if (one.kind === "tool.started") return [one.toolName];
        return one.kind === "model.replied" ? one.toolCalls.map(({ name }) => name) : [];
      }),
      ["docs/search", "docs/search"],
    );
    const [request] = rig.server.requests;
    assert.ok(request?.tools.includes("docs-search"));
    assert.match(JSON.stringify(request?.body), /Elsewhere it is called docs\/search\./);
  });

  it("is judged by the permissions under its own name", async (t) => {
    const rig = await sharedRig(t, callOnce);
    let calls = 0;
    const counting = asking(tool(() => ({ succeeded: true, text: String((calls += 1)) })));
    for (const tools of [["docs-search"], ["!docs/search"], []]) {
      const permissions = { preset: "read-only", tools } as const;
      const refused = await turn(await rig.open({ tools: [counting], permissions }), "Search");
      assert.deepEqual(
        denials(refused).map(({ operation, target }) => [operation, target]),
        [["tool", "docs/search"]],
      );
    }
    assert.equal(calls, 0);
  });

  it("is offered if availableTools has its own name", async (t) => {
    const rig = await sharedRig(t, callOnce);
    for (const availableTools of [["docs/search"], ["docs-search"]]) {
      await turn(await rig.open({ tools: [docs], availableTools }), "Search");
    }
    const [named, , other] = rig.server.requests;
    assert.deepEqual(named?.tools, ["docs-search"]);
    assert.deepEqual(other?.tools, []);
  });
});

describe("a call", () => {
  it("is told that its time is over, and the model too", async (t) => {
    const clock = skippingClock();
    const rig = await sharedRig(t, callOnce, { clock });
    let call: SessionToolCall | undefined;
    const hanging = tool(
      (one) => {
        call = one;
        return new Promise(() => {});
      },
      { timeoutSeconds: 90 },
    );
    const turned = turn(await rig.open({ tools: [hanging] }), "Search", { turnMs: 3_600_000 });
    await until(() => call !== undefined, "the call began");
    clock.skip(89_000);
    await clock.sleep(100);
    assert.equal(call?.signal.aborted, false);
    clock.skip(2_000);
    assert.match(completed(await turned).text, /did not answer within 90 s/);
    assert.equal(call?.signal.aborted, true);
  });

  for (const [how, history] of [
    ["goes to the model server by itself", []],
    ["passes through this process", [{ role: "user", text: "Before" }]],
  ] as const)
    it(`ends with its turn, whatever ends that, if the session ${how}`, async (t) => {
      const clock = skippingClock();
      const rig = await sharedRig(t, callOnce, { clock });
      for (const ending of ["cancel", "deadline", "close"] as const) {
        let call: SessionToolCall | undefined;
        const before = rig.server.requests.length;
        const endless = tool(
          (one) => {
            call = one;
            return untilStopped(one);
          },
          { timeoutSeconds: Infinity },
        );
        const stop = new AbortController();
        const session = await rig.open({ tools: [endless], history });
        const turned = turn(session, "Search", { turnMs: 3_600_000, signal: stop.signal });
        await until(() => call !== undefined, "the call began");
        if (ending === "cancel") stop.abort();
        if (ending === "deadline") clock.skip(3_600_000);
        if (ending === "close") void session.close();
        const run = await turned;
        if (ending === "deadline") assert.equal(crashOf(run).cause, "deadline");
        else assert.equal(run.outcome.kind, "canceled");
        assert.equal(call?.signal.aborted, true, ending);
        await session.close();
        // The model is not given the result of a stopped call.
        assert.equal(rig.server.requests.length - before, 1);
      }
    });

  it("shows its progress while it runs", async (t) => {
    const rig = await sharedRig(t, callOnce);
    let late: SessionToolCall | undefined;
    const telling = tool(async (call) => {
      late = call;
      call.onProgress("10 of 20\n");
      await skippingClock().sleep(60);
      call.onProgress("20 of 20\n");
      return { succeeded: true, text: "done" };
    });
    const session = await rig.open({ tools: [telling] });
    const run = await turn(session, "Search", {
      onActivity: ({ kind }) => {
        if (kind === "tool.ended") late?.onProgress("too late");
      },
    });
    const seen = run.activities.flatMap((one) => {
      if (one.kind === "tool.delta") return [[one.toolCallId, one.text]];
      return one.kind === "tool.started" || one.kind === "tool.ended" ? [one.kind] : [];
    });
    assert.deepEqual(seen, [
      "tool.started",
      ["call-1", "10 of 20\n"],
      ["call-1", "20 of 20\n"],
      "tool.ended",
    ]);
  });
});

describe("a folder that the session may read", () => {
  it("is read, not written, and a denial of the permissions still counts", async (t) => {
    const { path: folder } = await makeWorkspace(t);
    const path = join(folder, "result.txt");
    await writeFile(path, "the whole result");
    const rig = await makeRig(t, ({ toolResults }) =>
      toolResults.length > 0
        ? { text: toolResults.join("\n") }
        : {
            toolCalls: [
              { name: "view", arguments: { path } },
              { name: "grep", arguments: { pattern: "whole", path: folder } },
              { name: "create", arguments: { path: join(folder, "new.txt"), file_text: "x" } },
            ],
          },
    );
    const permissions = { preset: "workspace" } as const;
    const run = await turn(await rig.open({ permissions, readable: [folder] }), "Read");
    assert.deepEqual(
      denials(run).map(({ operation }) => operation),
      ["write"],
    );
    assert.match(completed(run).text, /the whole result/);
    const denying = { preset: "workspace", read: [`!${folder}/**`] } as const;
    const refused = await turn(
      await rig.open({ permissions: denying, readable: [folder] }),
      "Read",
    );
    assert.ok(denials(refused).some(({ operation }) => operation === "read"));
    assert.ok(!completed(refused).text.includes("the whole result"));
  });
});
