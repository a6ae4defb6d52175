/** What Copilot bills, on the real runtime with a scripted Copilot. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { makeAccount } from "../rig/account.ts";
import type { Script } from "../rig/model-server.ts";
import { makeRig, turn, type Rig } from "./rig.ts";

const price = { "gpt-5": [125, 1000] } as const;
const modelId = "gpt-5";
// A sandbox has no place for the runtime that the script of the account starts.
const permissions = { preset: "read-only", sandbox: "off" } as const;
const again = { toolCalls: [{ name: "job_prepare_document", arguments: { argument: "x" } }] };

async function copilot(t: TestContext, script: Script) {
  const { runtimePath, server } = await makeAccount(t, price, script);
  const access = { provider: undefined, gitHubToken: "gho_token", runtimePath };
  const rig: Rig = await makeRig(t, script, access);
  const asked = () => server.requests.filter(({ path }) => path.endsWith("/chat/completions"));
  return { rig, asked };
}

describe("a session of GitHub Copilot", () => {
  it("costs the credits that were billed, and keeps the number that was reported", async (t) => {
    const { rig } = await copilot(t, () => ({
      text: "Hello!",
      usage: { input: 100, output: 5, cached: 40 },
      nanoAiu: 12_400_000_000,
    }));
    const { activities } = await turn(await rig.open({ modelId, permissions }), "Say hello");
    const used = activities.filter((one) => one.kind === "model.used");
    assert.deepEqual(
      used.map(({ cost, nanoAiu, inputTokens, cacheReadTokens }) => [
        [cost, nanoAiu],
        [inputTokens, cacheReadTokens],
      ]),
      [
        [
          [12.4, 12_400_000_000],
          [100, 40],
        ],
      ],
    );
  });

  it("is ended by the runtime itself a little above what is left of the job's limit", async (t) => {
    const { rig, asked } = await copilot(t, () => ({ ...again, nanoAiu: 12e9 }));
    // By its count, four calls are 48 credits: three would be within 40.
    await turn(await rig.open({ modelId, permissions, creditsLeft: 40 }), "Go on for ever");
    assert.equal(asked().length, 4);
  });

  it("says nothing of limits to the model if nobody has set one", async (t) => {
    const { rig, asked } = await copilot(t, () => ({ text: "Hello!" }));
    await turn(await rig.open({ modelId, permissions, creditsLeft: Infinity }), "Say hello");
    assert.equal(asked().length, 1);
    assert.equal(asked()[0]?.prompt, "Say hello");
  });

  it("opens with less left than the runtime's lowest limit", async (t) => {
    const { rig, asked } = await copilot(t, () => ({ ...again, nanoAiu: 12e9 }));
    await turn(await rig.open({ modelId, permissions, creditsLeft: 0.5 }), "Go on for ever");
    assert.equal(asked().length, 3);
  });
});

it("an answer of another server costs nothing that it claims", async (t) => {
  const rig = await makeRig(t, () => ({ text: "Hello!", nanoAiu: 5e9 }));
  const { activities } = await turn(await rig.open(), "Say hello");
  const [used] = activities.filter((one) => one.kind === "model.used");
  assert.deepEqual([used?.cost, used?.nanoAiu], [undefined, undefined]);
});
