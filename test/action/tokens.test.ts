import assert from "node:assert/strict";
import { test } from "node:test";
import { modelAccess } from "../../src/action/inputs.ts";
import { Stop } from "../../src/action/stop.ts";

const none = { rehearse: undefined, provider: undefined, gitHubToken: undefined };
const key = "sesame-open-0123456789";

test("how the models are reached is said, and nothing of the value of a key", () => {
  const provider = { baseUrl: `https://models.example:8443/v1?code=${key}`, apiKey: key };
  const all: readonly (readonly [Parameters<typeof modelAccess>[0], RegExp])[] = [
    [{ ...none, gitHubToken: `ghs_${key}` }, /installation token.*copilot-requests: write/],
    [{ ...none, gitHubToken: `github_pat_${key}` }, /^GitHub Copilot$/],
    [
      { ...none, provider, gitHubToken: key },
      /server https:\/\/models\.example:8443 .*with `provider-api-key` and without a GitHub token/,
    ],
    [{ ...none, provider: { baseUrl: "http://localhost/v1" } }, /without a key/],
    [{ rehearse: "r.yml", provider, gitHubToken: key }, /played by the rehearsal, without a token/],
  ];
  for (const [keys, expected] of all) {
    const text = modelAccess(keys);
    assert.match(text, expected);
    assert.doesNotMatch(text, new RegExp(key));
  }
});

test("no key, or one that can't pay, is one error with the three ways to fix it", () => {
  for (const gitHubToken of [undefined, `ghp_${key}`]) {
    assert.throws(
      () => modelAccess({ ...none, gitHubToken }),
      (error) => {
        assert.ok(error instanceof Stop);
        const ways =
          /1\. .*copilot-requests: write[^]*2\. .*Copilot Requests[^]*3\. .*provider-base-url/;
        assert.match(error.message, ways);
        assert.doesNotMatch(error.message, new RegExp(key));
        return true;
      },
    );
  }
});
