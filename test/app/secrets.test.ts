import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { knownSecrets } from "../../src/app/secrets.ts";

describe("what counts as a secret", () => {
  const of = (name: string, value: string): readonly string[] =>
    knownSecrets({ environment: { [name]: value } });

  for (const name of [
    "MY_SECRET",
    "GITHUB_TOKEN",
    "INPUT_GITHUB-TOKEN",
    "INPUT_PROVIDER-API-KEY",
    "npm_config__authtoken",
    "AWS_ACCESS_KEY_ID",
    "PGPASSWORD",
    "GPG_PASSPHRASE",
    "DB_PASS",
    "GH_PAT",
    "PAT_OF_BOT",
    "SIGNING_KEY",
    "NPM_CONFIG__AUTH",
  ]) {
    it(`is the value of ${name}`, () => {
      assert.deepEqual(of(name, "value-of-it"), ["value-of-it"]);
    });
  }

  for (const name of ["PATH", "PATHEXT", "COMPATIBLE", "KEYBOARD", "PASSED", "AUTHOR", "HOME"]) {
    it(`is not the value of ${name}`, () => {
      assert.deepEqual(of(name, "value-of-it"), []);
    });
  }

  it("is no value that is too short to be one", () => {
    assert.deepEqual(of("MY_SECRET", "1234567"), []);
  });

  it("is the password in a URL, whatever the name of the variable is, as written and decoded", () => {
    assert.deepEqual(of("DATABASE_URL", "postgres://shop:pass%2Fword-1@db:5432/shop"), [
      "pass%2Fword-1",
      "pass/word-1",
    ]);
    assert.deepEqual(of("HTTPS_PROXY", "http://user:a@b@c-d-e-f@proxy:1"), [
      "a@b@c-d-e-f",
      "a@b@c-d-e-f",
    ]);
    assert.deepEqual(of("https_proxy", "user:pass-word@proxy:1"), ["pass-word", "pass-word"]);
    assert.deepEqual(of("HOMEPAGE", "https://example.com/a:b@c"), []);
  });

  it("is whatever the models are paid with", () => {
    assert.deepEqual(
      knownSecrets({
        provider: { baseUrl: "http://me:of-the-url@host/v1", apiKey: "key" },
        gitHubToken: "token",
        environment: {},
      }),
      ["key", "token", "of-the-url", "of-the-url"],
    );
  });
});
