import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { availableTools } from "../../src/entry/model.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { adoptSession, startSession } from "../../src/sessions/callbacks.ts";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { RequestHandler } from "../../src/sessions/request-handler.ts";
import {
  callbackLog,
  completed,
  crashOf,
  makeRig,
  scriptedTransport,
  sharedRig,
  turn,
  until,
} from "./rig.ts";

const script = ({ toolResults }: { readonly toolResults: readonly string[] }): object =>
  toolResults.length > 0
    ? { text: "Done." }
    : {
        reasoning: "Hm.",
        text: "Look:",
        toolCalls: [
          { name: "job_boolean_true", arguments: { argument: "yes" } },
          { name: "job_boolean_false", arguments: {} },
        ],
      };

test("every callback of a session is called, in its order", async (t) => {
  const rig = await sharedRig(t, script);
  const log: unknown[][] = [];
  const session = await rig.lend(callbackLog(log));
  await session.sendRequest("Hello");
  const names = log.map(([name]) => name);
  assert.deepEqual(
    names.filter((name, index) => name !== names[index - 1]),
    [
      "onAgentStart",
      "onStartReasoning",
      "onReasoning",
      "onEndReasoning",
      "onStartMessage",
      "onMessage",
      "onEndMessage",
      "onStartToolExecution",
      "onEndToolExecution",
      "onAgentEnd",
      "onAgentStart",
      "onStartMessage",
      "onMessage",
      "onEndMessage",
      "onAgentEnd",
      "onIdle",
    ],
  );
  const first = (name: string): unknown[] => log.find(([one]) => one === name) ?? [];
  assert.equal(first("onEndReasoning")[2], "Hm.");
  assert.equal(first("onEndMessage")[2], "Look:");
  assert.deepEqual(first("onStartToolExecution").slice(2), [
    undefined,
    "job_boolean_true",
    '{"argument":"yes"}',
  ]);
  const ends = log.filter(([name]) => name === "onEndToolExecution");
  assert.deepEqual(
    ends
      .map(([, , result, error]) => [result !== undefined, error !== undefined].join())
      .toSorted(),
    ["false,true", "true,false"],
  );
  assert.equal(session.rawSection.sessionId.length, 36);
  await session.stop();
});

test("a request rejects with the crash's message, and when the session is stopped", async (t) => {
  const rig = await sharedRig(t, ({ prompt }) =>
    prompt === "hang" ? { hang: "before" } : { status: 400 },
  );
  const failing = await rig.lend({
    ...callbackLog([]),
    onIdle: () => {
      throw new Error("a listener's fault");
    },
  });
  await assert.rejects(failing.sendRequest("Hello"), /^Error: .*400/);
  await assert.rejects(failing.sendRequest("hang", 500), /did not end within 500 ms/);
  const hanging = failing.sendRequest("hang");
  await until(() => rig.server.requests.filter(({ prompt }) => prompt === "hang").length > 1, "it");
  const rejected = assert.rejects(hanging, /stopped/);
  await failing.stop();
  await rejected;
  await failing.stop();
});

test("a lent session runs turns of the engine, and closing it leaves it alone", async (t) => {
  const rig = await makeRig(t, (request) =>
    request.prompt === "hang" ? { hang: "before" } : script(request),
  );
  const lent = await rig.lend();
  const adopted = adoptSession(lent, { modelId: "claude-test", clock: systemClock });
  assert.equal(adopted.id, lent.rawSection.sessionId);
  assert.deepEqual(completed(await turn(adopted, "Hello")), {
    kind: "completed",
    toolCalls: [
      { name: "job_boolean_true", arguments: { argument: "yes" }, succeeded: true },
      { name: "job_boolean_false", arguments: {}, succeeded: false },
    ],
    text: "Done.",
  });
  await adopted.close();
  await lent.sendRequest("again");
  const running = turn(adopted, "hang");
  await until(() => rig.server.requests.some(({ prompt }) => prompt === "hang"), "the request");
  for (const pid of rig.sessions.runtimePids) process.kill(pid, "SIGKILL");
  assert.equal(crashOf(await running).cause, "runtime-died");
  await lent.stop();
});

test("startSession works on any client of the SDK", async (t) => {
  const baseDirectory = await mkdtemp(join(tmpdir(), "test-agent-jobs-"));
  const client = new CopilotClient({
    mode: "empty",
    connection: RuntimeConnection.forStdio({ path: findRuntime({ environment: process.env }) }),
    baseDirectory,
    useLoggedInUser: false,
    env: { PATH: process.env["PATH"] },
    logLevel: "error",
    requestHandler: new RequestHandler({
      transport: scriptedTransport(() => ({ text: "Hi" })),
      environment: {},
      conversation: () => undefined,
      killRuntime: () => undefined,
      withoutFormats: new Set(),
    }),
  });
  t.after(async () => {
    await client.stop();
    await rm(baseDirectory, { recursive: true, force: true });
  });
  await client.start();
  const create = t.mock.method(client, "createSession");
  const log: unknown[][] = [];
  const session = await startSession(client, "gpt-test", callbackLog(log), tmpdir());
  // Its runtime doesn't keep private files out of searches.
  assert.deepEqual(create.mock.calls[0]?.arguments[0].availableTools, [
    "builtin:view",
    ...availableTools.map((name) => `custom:${name}`),
  ]);
  // The runtime asks nobody if it has neither a provider nor a token.
  await assert.rejects(session.sendRequest("Hello", 20_000), /token|authenticat/i);
  await session.stop();
});
