import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { actions, inputName, inputTable, type Mode } from "../../src/action/actions.ts";
import {
  asInput,
  type Inputs,
  inputVariable,
  readInputs,
  secretInputs,
} from "../../src/action/inputs.ts";
import { modelAccess, Stop } from "../../src/action/setting.ts";
import type { Option } from "../../src/run/option-table.ts";

function environment(inputs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
  );
}

function valid(inputs: Readonly<Record<string, string>>): Inputs {
  const read = readInputs("run", environment({ entry: "e.yml", ...inputs }));
  assert.deepEqual(read.problems, []);
  return read.inputs;
}

function problems(inputs: Readonly<Record<string, string>>, mode: Mode = "run"): readonly string[] {
  return readInputs(mode, environment(inputs)).problems;
}

describe("the inputs", () => {
  it("are found under the names that the runner gives them, hyphens kept", () => {
    assert.equal(inputVariable("user-input"), "INPUT_USER-INPUT");
    assert.equal(valid({ "user-input": "hello" }).userInput, "hello");
  });

  for (const [option, name] of [
    ["answer", "`inputs`"],
    ["in-place", "`agent-jobs rehearse --in-place`"],
    ["resume-anyway", "`agent-jobs run --resume-anyway`"],
    ["runtime-path", "`AGENT_JOBS_RUNTIME_PATH`"],
  ] as const)
    it(`replace ${option} of the command line, or messages name what does`, () => {
      assert.equal(asInput(option), name);
    });

  it("mean the same when absent, when empty and when given their default", () => {
    const absent = valid({});
    const rows: Readonly<Record<string, Option>> = inputTable;
    const options = actions.run.inputs
      .filter((field) => field !== "entry")
      .map((field) => ({ name: inputName(field, rows[field]), preset: rows[field]?.preset ?? "" }));
    const given = (of: (preset: string) => string): Record<string, string> =>
      Object.fromEntries(options.map(({ name, preset }) => [name, of(preset)]));
    assert.deepEqual(valid(given((preset) => preset)), absent);
    assert.deepEqual(valid(given(() => " ")), absent);
  });

  it("fall back to variables of the environment, which have the rest of a model server", () => {
    const variables = {
      AGENT_JOBS_PROVIDER_BASE_URL: "https://models.example/v1",
      AGENT_JOBS_PROVIDER_API_KEY: "key",
      AGENT_JOBS_PROVIDER_TYPE: "azure",
      AGENT_JOBS_RUNTIME_PATH: "/opt/runtime",
      AGENT_JOBS_MODEL: "m",
    };
    for (const mode of ["run", "plan", "merge"] as const) {
      const journals = { shards: "2", journals: "a" };
      const { inputs } = readInputs(mode, { ...environment(journals), ...variables });
      assert.deepEqual(
        [inputs.provider, inputs.runtimePath, inputs.models],
        [
          {
            baseUrl: "https://models.example/v1",
            type: "azure",
            wireApi: "completions",
            apiKey: "key",
          },
          "/opt/runtime",
          { "*": "m" },
        ],
      );
    }
    const named = valid({ model: "own", "provider-base-url": "" });
    assert.deepEqual([named.models, named.provider], [{ "*": "own" }, undefined]);
    const key = readInputs("run", { INPUT_ENTRY: "e.yml", AGENT_JOBS_PROVIDER_API_KEY: "k" });
    assert.deepEqual([key.problems, key.inputs.provider], [[], undefined]);
    const alone = readInputs("run", { INPUT_ENTRY: "e.yml", AGENT_JOBS_PROVIDER_TYPE: "azur" });
    assert.match(alone.problems.join(), /^`AGENT_JOBS_PROVIDER_TYPE` must be one of openai/);
  });

  it("become what they mean", () => {
    const inputs = valid({
      model: "driving=gpt-5-mini\n\n  work = a=b  \n",
      permissions: "workspace",
      limits: "{ parallel: 3, jobMinutes: 0.5 }",
      "allowed-users": "dependabot[bot]\r\noctocat\n*",
      staged: "TRUE",
      "provider-base-url": "https://models.example/v1",
      "provider-api-key": "key",
      "github-token": "ghs_x",
      summary: "compact",
      "fail-on": "never",
    });
    const expected = {
      models: { driving: "gpt-5-mini", work: "a=b" },
      permissions: "workspace",
      limits: { parallel: 3, jobMinutes: 0.5 },
      allowedUsers: ["dependabot[bot]", "octocat", "*"],
      staged: true,
      provider: {
        baseUrl: "https://models.example/v1",
        type: "openai",
        wireApi: "completions",
        apiKey: "key",
      },
      gitHubToken: "ghs_x",
      summary: "compact",
      failOn: "never",
    };
    assert.deepEqual({ ...inputs, ...expected }, inputs);
  });

  it("give entries inputs, workflows parameters, and both answers, line by line or as JSON", () => {
    const answers = { ASK_A: ["yes", "no"] };
    for (const inputs of [
      "REPO_URL = https://x.example/?a=b\nASK_A=yes\nTEXT<<END\none\n two\nEND\nASK_A=no",
      JSON.stringify({
        REPO_URL: "https://x.example/?a=b",
        TEXT: "one\n two",
        ASK_A: ["yes", "no"],
      }),
    ]) {
      const params = { REPO_URL: "https://x.example/?a=b", TEXT: "one\n two" };
      for (const entry of ["e.wf.md", `o/r/e.wf.md@${"a".repeat(40)}`]) {
        const workflow = valid({ entry, inputs });
        assert.deepEqual(
          [workflow.params, workflow.inputs, workflow.answers],
          [params, {}, answers],
        );
      }
      const entry = valid({ inputs });
      assert.deepEqual([entry.params, entry.inputs, entry.answers], [{}, params, answers]);
    }
    assert.deepEqual(problems({ entry: "e.yml", inputs: '{"a=b": "c"}' }), [
      '`inputs`: the line "{\\"a=b\\": \\"c\\"}" has the name "a=b".',
    ]);
    const long = `A${"x".repeat(1000)}`;
    assert.deepEqual(
      problems({
        entry: "e.wf.md",
        inputs: `A=1\nA=2\nRESULT=1\n${long}\nB<<END`,
        env: "A=b",
      }),
      [
        '`inputs`: the line "A=2" names the parameter "A" twice.',
        '`inputs`: the line "RESULT=1" names RESULT, which the run sets itself and can\'t be a parameter.',
        `\`inputs\`: the line "${long.slice(0, 100)}…" must have the form NAME=value, for example BRANCH=main.`,
        '`inputs`: the line "B<<END" begins a value of several lines, but no line "END" ends it.',
        '`env`: the line "A=b" must be the name of an environment variable, for example CI, not "A=b". Its value is taken from the environment.',
      ],
    );
  });

  it("are those of the action: another action doesn't read them", () => {
    const given = { entry: "e.yml", shard: "1/2", files: "r.yml", journal: "j.jsonl" };
    const merged = readInputs("merge", environment({ ...given, journals: "a" }));
    assert.deepEqual(merged.problems, []);
    assert.deepEqual(
      [merged.inputs.shard, merged.inputs.files, merged.inputs.journal],
      [undefined, [], undefined],
    );
    assert.deepEqual(problems(given), ["`shard` requires `resume` with the journal of the plan."]);
    for (const [mode, needed] of [
      ["plan", "shards"],
      ["merge", "journals"],
      ["deliver", "journal"],
    ] as const)
      assert.deepEqual(problems({ entry: "e.yml" }, mode), [
        `The input \`${needed}\` is required.`,
      ]);
    assert.deepEqual(problems({}, "rehearse"), []);
    assert.deepEqual(problems({ entry: "e.yml", prompt: "Go" }), [
      "Only one of `entry`, `prompt` and `prompt-file` can be used.",
    ]);
    const keys = { "provider-api-key": "k", "provider-token-command": "true" };
    const server = { "provider-base-url": "https://models.example/v1" };
    assert.deepEqual(problems({ entry: "e.yml", ...server, ...keys }), [
      "`provider-api-key` and `provider-token-command` can't be used together.",
    ]);
  });

  it("tell of all that is wrong at once, with the values that they can have", () => {
    assert.deepEqual(
      problems({
        "user-input": "a",
        "user-input-file": "b",
        model: "driving=\nx=1\nx=2",
        permissions: "root",
        limits: "{ parallel: 1.5 }",
        summary: "Full",
        "fail-on": "always",
        staged: "yes",
        "allowed-users": "*[bot]",
      }).toSorted(),
      [
        "One of `entry`, `prompt` and `prompt-file` is required.",
        "`user-input` and `user-input-file` can't be used together.",
        '`model`: the line "driving=" must be the id of a model, or category=id, for example driving=gpt-5-mini.',
        '`model`: the line "x=2" names the category "x" twice.',
        '`permissions` must be one of read-only, workspace, all, not "root".',
        "`limits` is wrong: limits.parallel must be a whole number, not 1.5.",
        '`summary` must be one of full, compact, off, not "Full" (did you mean "full"?).',
        '`fail-on` must be one of failure, refused, never, not "always".',
        '`allowed-users`: the line "*[bot]" must be a login, for example octocat or dependabot[bot], without wildcards.',
        '`staged` must be true or false, not "yes".',
      ].sort(),
    );
  });

  it("name an entry of another repository with a full commit SHA", () => {
    const commit = "a".repeat(40);
    for (const [entry, reason] of [
      [
        "org/agents/review.yml@main",
        /full commit SHA of 40 digits, not "main": a branch or a tag can/,
      ],
      ["org/agents/review.yml@v1.2.3", /not "v1\.2\.3"/],
      ["org/agents/review.yml@feature/x", /not "feature\/x"/],
      [`org/agents/review.yml@${commit.slice(0, 12)}`, /a short SHA can get ambiguous/],
      ["org/agents/review.yml@", /not ""/],
      [`review.yml@${commit}`, /is written owner\/repo\/path@SHA/],
      [`org/agents@${commit}`, /is written owner\/repo\/path@SHA/],
      [`org/agents/../../x.yml@${commit}`, /is written owner\/repo\/path@SHA/],
      [`https://github.com/org/agents/x.yml@${commit}`, /is written owner\/repo\/path@SHA/],
    ] as const)
      assert.match(problems({ entry }).join(), reason, entry);
    assert.equal(valid({ entry: "packages/@shop/a.yml" }).central, undefined);
  });

  it("are booleans as the toolkit reads them", () => {
    for (const text of ["true", "True", "TRUE"]) assert.equal(valid({ staged: text }).staged, true);
    for (const text of ["false", "False", "FALSE"])
      assert.equal(valid({ staged: text }).staged, false);
    for (const text of ["yes", "1", "tRUE"])
      assert.equal(problems({ entry: "e.yml", staged: text }).length, 1, text);
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
      readInputs("run", {
        ...environment({ entry: "e.yml", "provider-api-key": "k" }),
        AGENT_JOBS_PROVIDER_WIRE_API: "responses",
      }).problems,
      [
        "`provider-api-key` needs `provider-base-url`.",
        "`AGENT_JOBS_PROVIDER_WIRE_API` needs `provider-base-url`.",
      ],
    );
  });

  it("fall back to GITHUB_TOKEN, and every token is to be masked, used or not", () => {
    const read = readInputs("run", { INPUT_ENTRY: "e.yml", GITHUB_TOKEN: "ghs_b" });
    assert.deepEqual(read.problems, []);
    assert.equal(read.inputs.gitHubToken, "ghs_b");
    assert.deepEqual(
      secretInputs({
        "INPUT_GITHUB-TOKEN": "ghs_a",
        "INPUT_PROVIDER-API-KEY": "key",
        GITHUB_TOKEN: "ghs_b",
      }),
      ["key", "ghs_a", "ghs_b"],
    );
  });
});

const none = { mode: "run", provider: undefined, gitHubToken: undefined } as const;
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
    [{ mode: "rehearse", provider, gitHubToken: key }, /played by the rehearsal, without a token/],
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
