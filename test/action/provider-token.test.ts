/** Whole steps whose key of the model server comes from a command. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { modelServer } from "../rig/model-server.ts";
import { named, playStep } from "./rig.ts";

const command =
  'test -n "$ACTIONS_ID_TOKEN_REQUEST_URL" && printf %s-%s exchanged token-0123456789';
const env = { ACTIONS_ID_TOKEN_REQUEST_URL: "https://oidc.example" };
const key = "exchanged-token-0123456789";

describe("a step with `provider-token-command`", () => {
  it("asks the models with what the command prints, and masks it before it is used", async (t) => {
    const server = await modelServer(t, () => ({ text: `It is ${key}.` }));
    const inputs = {
      entry: "entries/hello.yml",
      "user-input": "you",
      "provider-base-url": server.baseUrl,
      "provider-token-command": command,
      "output-dir": "out",
    };
    const { workspace, ...step } = await playStep(t, inputs, { env });
    assert.deepEqual(
      new Set(server.requests.map(({ headers }) => headers["authorization"])),
      new Set([`Bearer ${key}`]),
    );
    assert.equal(named(step, "add-mask").filter(({ message }) => message === key).length, 1);
    assert.match(step.log, /with `provider-token-command` and without a GitHub token/);
    const withoutMask = step.raw.replace(`::add-mask::${key}`, "");
    for (const text of [withoutMask, step.summary, await workspace.read("out/journal.jsonl")])
      assert.ok(!text.includes(key), text.slice(0, 1000));
  });
});
