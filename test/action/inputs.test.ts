import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import {
  inputTable,
  type Inputs,
  inputVariable,
  modelAccess,
  readInputs,
  secretInputs,
} from "../../src/action/inputs.ts";
import { Stop } from "../../src/action/stop.ts";
import { kebab, type Option } from "../../src/run/option-table.ts";

function environment(inputs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
  );
}

function valid(inputs: Readonly<Record<string, string>>): Inputs {
  const read = readInputs(environment({ entry: "e.yml", ...inputs }));
  assert.deepEqual(read.problems, []);
  return read.inputs;
}

function problems(inputs: Readonly<Record<string, string>>): readonly string[] {
  return readInputs(environment(inputs)).problems;
}

describe("the inputs", () => {
  it("are found under the names that the runner gives them, hyphens kept", () => {
    assert.equal(inputVariable("user-input"), "INPUT_USER-INPUT");
    assert.equal(valid({ "user-input": "hello" }).userInput, "hello");
  });

  it("mean the same when absent, when empty and when given their default", () => {
    const absent = valid({});
    const { entry: _, ...rows } = inputTable;
    const options = Object.entries<Option>(rows).map(([name, { preset = "" }]) => ({
      name: kebab(name),
      preset,
    }));
    const given = (of: (preset: string) => string): Record<string, string> =>
      Object.fromEntries(options.map(({ name, preset }) => [name, of(preset)]));
    assert.deepEqual(valid(given((preset) => preset)), absent);
    assert.deepEqual(valid(given(() => " ")), absent);
  });

  it("may name the default API where the address is an empty variable", () => {
    const given = { "provider-base-url": "", "provider-type": "openai" };
    assert.equal(valid({ ...given, "provider-wire-api": "completions" }).provider, undefined);
  });

  it("become what they mean", () => {
    const inputs = valid({
      models: "driving=gpt-5-mini\n\n  work = a=b  \n",
      permissions: "workspace",
      "max-parallel": "3",
      "timeout-minutes": "0.5",
      "allowed-bots": "dependabot[bot]\r\nrenovate[bot]\n",
      "allow-untrusted": "true",
      "provider-base-url": "https://models.example/v1",
      "provider-api-key": "key",
      "provider-type": "azure",
      "github-token": "ghs_x",
      summary: "compact",
      annotations: "errors",
      "fail-on": "never",
    });
    const expected = {
      models: { driving: "gpt-5-mini", work: "a=b" },
      permissions: "workspace",
      maxParallel: 3,
      timeoutMinutes: 0.5,
      allowedBots: ["dependabot[bot]", "renovate[bot]"],
      allowUntrusted: true,
      provider: {
        baseUrl: "https://models.example/v1",
        type: "azure",
        wireApi: "completions",
        apiKey: "key",
      },
      gitHubToken: "ghs_x",
      summary: "compact",
      annotations: "errors",
      failOn: "never",
    };
    assert.deepEqual({ ...inputs, ...expected }, inputs);
  });

  it("give workflows parameters, answers and names of the environment, line by line", () => {
    const inputs = valid({
      params: "REPO_URL = https://x.example/?a=b\nTEXT<<END\none\n two\nEND",
      answers: "ASK_A=yes\nASK_A=no",
      env: "CI\n HOME",
      rerun: "true",
    });
    const expected = {
      params: { REPO_URL: "https://x.example/?a=b", TEXT: "one\n two" },
      answers: { ASK_A: ["yes", "no"] },
      env: ["CI", "HOME"],
      rerun: true,
    };
    assert.deepEqual({ ...inputs, ...expected }, inputs);
    const long = `A${"x".repeat(1000)}`;
    assert.deepEqual(
      problems({
        entry: "e.wf.md",
        params: `A=1\nA=2\nRESULT=1\n${long}\nB<<END`,
        answers: "NAME=x",
        env: "A=b",
      }),
      [
        '`params`: the line "A=2" names the parameter "A" twice.',
        '`params`: the line "RESULT=1" names RESULT, which the run sets itself and can\'t be a parameter.',
        `\`params\`: the line "${long.slice(0, 100)}…" must have the form NAME=value, for example BRANCH=main.`,
        '`params`: the line "B<<END" begins a value of several lines, but no line "END" ends it.',
        '`answers`: the line "NAME=x" has the name "NAME". An answer has the id of its ASK, for example ASK_NAME=yes.',
        '`env`: the line "A=b" must be the name of an environment variable, for example CI, not "A=b". Its value is taken from the environment.',
      ],
    );
  });

  it("tell of all that is wrong at once, with the values that they can have", () => {
    assert.deepEqual(
      problems({
        "user-input": "a",
        "user-input-file": "b",
        models: "driving=\nx=1\nx=2",
        permissions: "root",
        "max-parallel": "1.5",
        "timeout-minutes": "soon",
        "provider-type": "azur",
        summary: "Full",
        annotations: "none",
        "fail-on": "always",
        "allow-untrusted": "yes",
        "allowed-bots": "*[bot]",
      }).toSorted(),
      [
        "One of `entry`, `prompt` and `prompt-file` is required.",
        "`user-input` and `user-input-file` can't be used together.",
        '`models`: the line "driving=" must be the id of a model, or category=id, for example driving=gpt-5-mini.',
        '`models`: the line "x=2" names the category "x" twice.',
        '`permissions` must be one of read-only, workspace, all, not "root".',
        '`max-parallel` must be a whole number greater than 0, not "1.5".',
        '`provider-type` must be one of openai, azure, anthropic, not "azur" (did you mean "azure"?).',
        '`summary` must be one of full, compact, off, not "Full" (did you mean "full"?).',
        '`annotations` must be one of all, errors, off, not "none".',
        '`fail-on` must be one of failure, refused, never, not "always".',
        '`allowed-bots`: the line "*[bot]" must be a login, for example dependabot[bot], without wildcards.',
        '`allow-untrusted` must be one of false, true, not "yes".',
        '`timeout-minutes` must be a number greater than 0, not "soon".',
      ].sort(),
    );
  });

  it("take only a positive decimal number for a number of turns", () => {
    for (const text of ["0", "-1", "1e3", "0x10", "Infinity", "1_000", "9007199254740993"])
      assert.equal(problems({ entry: "e.yml", "max-parallel": text }).length, 1, text);
  });

  it("want an address for a provider, without a password in it", () => {
    for (const [url, reason] of [
      ["models.example", /http or https/],
      ["file:///etc/passwd", /http or https/],
      ["https://hunter2@models.example", /contains a user name/],
      ["https://user:hunter2@models.example", /contains a user name or a password/],
    ] as const) {
      const said = problems({ entry: "e.yml", "provider-base-url": url }).join("");
      assert.match(said, reason);
      assert.doesNotMatch(said, /hunter2/);
    }
    assert.deepEqual(
      problems({ entry: "e.yml", "provider-api-key": "k", "provider-wire-api": "responses" }),
      [
        "`provider-api-key` needs `provider-base-url`.",
        "`provider-wire-api` needs `provider-base-url`.",
      ],
    );
  });

  it("fall back to GITHUB_TOKEN, and every token is to be masked, used or not", () => {
    const read = readInputs({ INPUT_ENTRY: "e.yml", GITHUB_TOKEN: "ghs_b" });
    assert.deepEqual(read.problems, []);
    assert.equal(read.inputs.gitHubToken, "ghs_b");
    assert.deepEqual(
      secretInputs({
        "INPUT_GITHUB-TOKEN": "ghs_a",
        "INPUT_PROVIDER-API-KEY": "key",
        GITHUB_TOKEN: "ghs_b",
      }),
      ["ghs_a", "key", "ghs_b"],
    );
  });
});

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
    const text = modelAccess(keys, {});
    assert.match(text, expected);
    assert.doesNotMatch(text, new RegExp(key));
  }
});

test("no key, or one that can't pay, is one error with its cause and the ways that are left", () => {
  const refusal = (gitHubToken: string | undefined, environment = {}): string => {
    try {
      return modelAccess({ ...none, gitHubToken }, environment);
    } catch (error) {
      assert.ok(error instanceof Stop);
      assert.match(error.message, /Copilot Requests|copilot-requests: write/);
      assert.match(error.message, /`provider-base-url`/);
      assert.doesNotMatch(error.message, new RegExp(`${key}|\n`));
      return error.message;
    }
  };
  assert.match(refusal(`ghp_${key}`), /is a classic personal token .* Use a fine-grained one/);
  assert.match(refusal(undefined), /`github-token` is empty, because its secret isn't set/);
  const onAct = refusal(undefined, { ACT: "true" });
  assert.match(onAct, /act has no built-in one\. Pass a token .*`act -s GITHUB_TOKEN=…`/);
  assert.doesNotMatch(onAct, /secret|omit|permissions:/);
});
