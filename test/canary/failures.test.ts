/** Errors give a reason and quote the input, with secrets masked. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bash, type Reply } from "../rig/model-server.ts";
import { onlyNightly } from "../rig/nightly.ts";
import {
  assertSilent,
  descendants,
  runCliWithCanaries,
  type CanaryRun,
  type Scene,
} from "./rig.ts";

function assertSilentToAll(run: CanaryRun): void {
  // While it runs, the runtime keeps the conversation in a folder that ends with the run.
  const conversation = /^request \d+: .*\/tmp\/agent-jobs-\w+\/runtime-\d+\/home\/session-state\//;
  assertSilent({ ...run, onDisk: run.onDisk.filter(({ where }) => !conversation.test(where)) });
  assert.deepEqual([run.saidOfFiles, run.toModel], [[], []]);
}

const json = { "content-type": "application/json" };

/** A server that answers with what it was sent, in all the ways in which servers quote. */
function echoes(key: string): readonly Reply[] {
  const encoded = Buffer.from(`user:${key}`).toString("base64");
  const message = [
    `Invalid Authorization: Bearer ${key}`,
    `key ${key}`,
    `Basic ${encoded}`,
    `?api_key=${encodeURIComponent(key)}`,
  ].join("; ");
  return [
    {
      status: 401,
      headers: { ...json, "x-echo": key },
      raw: JSON.stringify({ error: { message, code: key } }),
    },
    { status: 400, headers: { "content-type": "text/html" }, raw: `<pre>${message}</pre>` },
    { raw: `data: {"error":{"message":${JSON.stringify(message)}}}\n\n` },
  ];
}

describe("a run that fails", { timeout: 300_000 }, () => {
  const names = ["401", "400 in HTML", "an error in the stream"];
  for (const [index, name] of names.entries()) {
    it(
      `does not repeat the key that the model's server echoes: ${name}`,
      index === 0 ? {} : onlyNightly,
      async (t) => {
        const run = await runCliWithCanaries(t, {
          permissions: "workspace",
          script: (_request, { providerKey }) => echoes(providerKey)[index] ?? {},
        });
        assert.notEqual(run.code, 0);
        assertSilentToAll(run);
        assert.match(run.journal, /"session-crashed"/);
        assert.equal(
          run.requests[0]?.headers["authorization"]?.startsWith("Bearer key-"),
          true,
          "the key was sent, and only there",
        );
      },
    );
  }

  it("keeps silent when the runtime crashes with a secret in the last words of its agent", async (t) => {
    const modes: number[] = [];
    const run = await runCliWithCanaries(t, {
      permissions: "workspace",
      script({ toolResults }, { pid, providerKey, temporary }: Scene) {
        if (toolResults.length === 0) {
          return { text: `I know ${providerKey}`, toolCalls: [bash("env; sleep 0.2")] };
        }
        for (const name of readdirSync(temporary)) {
          modes.push(statSync(join(temporary, name)).mode & 0o777);
        }
        for (const child of descendants(pid)) kill(child);
        return { hang: "before" };
      },
    });
    assert.notEqual(run.code, 0);
    const { toModel: said, ...rest } = run;
    assertSilentToAll({ ...rest, toModel: [] });
    // It was the model that said it: the conversation goes back to it, and to nobody else.
    assert.ok(said.every(({ places }) => places.join() === "provider key"));
    assert.ok(modes.length > 0);
    assert.deepEqual([...new Set(modes)], [0o700], "nobody else may enter the folder");
    assert.match(run.journal, /exited unexpectedly \(SIGKILL\)/);
  });
});

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}
