/** Every kind of reply on the real runtime: it must take them as a model's, and ask for no more than it should. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Session, TurnOutcome } from "../../../src/engine/ports.ts";
import type { SessionActivity } from "../../../src/events/session-activity.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { ScriptedModel } from "../../../src/rehearsal/player/scripted-model.ts";
import { createSessions } from "../../../src/sessions/sessions.ts";
import type { ModelRequest } from "../../../src/sessions/request-handler.ts";
import { makeWorkspace, type Workspace } from "../../rig/workspace.ts";
import { unconfined } from "../../rig/sandbox.ts";
import { label, script } from "../rig.ts";
import { crashStatus } from "../../../src/events/crash.ts";

interface Live {
  readonly model: ScriptedModel;
  readonly workspace: Workspace;
  readonly requests: ModelRequest[];
  readonly open: () => Promise<Session>;
}

async function live(test: TestContext, rules: string): Promise<Live> {
  const workspace = await makeWorkspace(test, { "a.txt": "The first line\n" });
  const model = new ScriptedModel(script(rules), {
    clock: systemClock,
    workingDirectory: workspace.path,
  });
  const requests: ModelRequest[] = [];
  const sessions = createSessions({
    clock: systemClock,
    environment: process.env,
    transport: {
      send(request) {
        requests.push(request);
        return model.send(request);
      },
    },
  });
  test.after(() => sessions.stop());
  return {
    model,
    workspace,
    requests,
    async open() {
      const { path: workingDirectory } = workspace;
      const opened = await sessions.factory.open(
        { label, modelId: label.modelId, workingDirectory, permissions: unconfined("workspace") },
        new AbortController().signal,
      );
      if (opened.kind === "crashed") assert.fail(JSON.stringify(opened));
      return opened.session;
    },
  };
}

interface Turned {
  readonly outcome: TurnOutcome;
  readonly activities: readonly SessionActivity[];
}

async function turn(session: Session, prompt: string): Promise<Turned> {
  const activities: SessionActivity[] = [];
  const outcome = await session.runTurn(prompt, {
    signal: new AbortController().signal,
    turnMs: 60_000,
    idleMs: 30_000,
    onActivity: (activity) => activities.push(activity),
  });
  return { outcome, activities };
}

function crashed({ outcome }: Turned): Extract<TurnOutcome, { kind: "crashed" }>["crash"] {
  if (outcome.kind !== "crashed") assert.fail(JSON.stringify(outcome));
  return outcome.crash;
}

const textOf = ({ outcome }: Turned): string =>
  outcome.kind === "completed" ? outcome.text : JSON.stringify(outcome);

test("tools really run, and the next reply sees what they returned", async (t) => {
  const { model, open, workspace } = await live(
    t,
    `
  - turns:
      - prompt: { equals: Read it }
        replies:
          - reasoning: I have to look.
            text: Let me see.
            tools:
              - { name: view, arguments: { path: "\${workingDirectory}/a.txt" } }
              - { name: bash, arguments: { command: "echo from the shell", description: d } }
              - { name: apply_patch, arguments: "*** Begin Patch\\n*** Add File: \${workingDirectory}/b.txt\\n+patched\\n*** End Patch\\n" }
          - toolResults: { contains: [The first line, from the shell] }
            tools: [{ name: job_boolean_true, arguments: { argument: it was read } }]
            usage: { input: 11, output: 7 }
      - prompt: Once more
        text: "Ünïcödé 🎭 in pieces"`,
  );
  const session = await open();
  const first = await turn(session, "Read it");
  assert.equal(textOf(first), "Done.");
  assert.deepEqual(
    first.outcome.toolCalls.map(({ name, succeeded }) => [name, succeeded]),
    [
      ["view", true],
      ["bash", true],
      ["apply_patch", true],
      ["job_boolean_true", true],
    ],
  );
  assert.equal(await workspace.read("b.txt"), "patched\n");
  const replied = first.activities.filter((activity) => activity.kind === "model.replied");
  assert.deepEqual([replied.length, replied[0]?.reasoning], [3, "I have to look."]);
  const used = first.activities.filter((activity) => activity.kind === "model.used");
  assert.deepEqual(
    used.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]),
    [
      [0, 0],
      [11, 7],
      [0, 0],
    ],
  );
  assert.equal(textOf(await turn(session, "Once more")), "Ünïcödé 🎭 in pieces");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("a final error costs one request, whatever its status", async (t) => {
  const { open, requests, model } = await live(
    t,
    `
  - turns: [{ error: { status: 503, message: Too busy } }, { error: 429 }, { error: 408 }, { error: 400 }, Fine]`,
  );
  const session = await open();
  for (const status of [503, 429, 408, 400]) {
    const failed = await turn(session, `Go for ${status}`);
    assert.equal(crashStatus(crashed(failed)), status);
  }
  assert.equal(requests.length, 4);
  assert.equal(textOf(await turn(session, "Go on")), "Fine");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("an error or a cut that passes is mended by the runtime", async (t) => {
  const { open, requests, model } = await live(
    t,
    `
  - turns:
      - replies:
          - { error: 500, times: 1 }
          - { cut: true, text: Half an, times: 1 }
          - A whole answer`,
  );
  assert.equal(textOf(await turn(await open(), "Go")), "A whole answer");
  assert.equal(requests.length, 3);
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});
