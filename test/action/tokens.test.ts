import assert from "node:assert/strict";
import { test } from "node:test";
import { modelKey } from "../../src/action/inputs.ts";

const none = { rehearse: undefined, provider: undefined, gitHubToken: undefined };
const key = "sesame-open-0123456789";

test("which key pays for the models is said, and nothing of its value", () => {
  const provider = { baseUrl: `https://models.example:8443/v1?code=${key}`, apiKey: key };
  const all: readonly (readonly [Parameters<typeof modelKey>[0], RegExp])[] = [
    [{ ...none, gitHubToken: `ghs_${key}` }, /installation token.*copilot-requests: write/],
    [{ ...none, gitHubToken: `github_pat_${key}` }, /fine-grained personal token/],
    [{ ...none, gitHubToken: `gho_${key}` }, /a user's token/],
    [{ ...none, gitHubToken: key }, /a token of unknown type/],
    [
      { ...none, provider, gitHubToken: key },
      /server https:\/\/models\.example:8443 .*with `provider-api-key` and without a GitHub token/,
    ],
    [{ ...none, provider: { baseUrl: "http://localhost/v1" } }, /without a key/],
    [{ rehearse: "r.yml", provider, gitHubToken: key }, /played by the rehearsal, without a token/],
  ];
  for (const [keys, expected] of all) {
    const found = modelKey(keys);
    assert.equal(found.kind, "given");
    const text = JSON.stringify(found);
    assert.match(text, expected);
    assert.doesNotMatch(text, new RegExp(key));
  }
});

test("no key, or one that can't pay, is one error with the three ways to fix it", () => {
  for (const gitHubToken of [undefined, `ghp_${key}`]) {
    const found = modelKey({ ...none, gitHubToken });
    assert.ok(found.kind === "missing");
    assert.match(
      found.problem,
      /1\. .*copilot-requests: write[^]*2\. .*Copilot Requests[^]*3\. .*provider-base-url/,
    );
    assert.doesNotMatch(found.problem, new RegExp(key));
  }
});
