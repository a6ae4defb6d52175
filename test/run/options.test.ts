import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { answers, params } from "../../src/run/option-assignments.ts";
import {
  amount,
  andThen,
  count,
  envNames,
  models,
  type Kind,
  type Parsed,
  type Repeated,
} from "../../src/run/option-kinds.ts";
import { asFlag } from "../../src/run/options.ts";
import { modelsOfEnvironment, readProvider } from "../../src/run/options-provider.ts";

const problem = (parsed: Parsed<unknown>): string =>
  parsed.kind === "wrong" ? parsed.problem : "";

/** Parses one after the other, as a repeated option is. */
function all<T>(kind: Repeated<T>, ...texts: string[]): unknown {
  return texts.reduce<Parsed<T>>(
    (earlier, text) => (earlier.kind === "wrong" ? earlier : kind.parse(text, earlier.value)),
    { kind: "value", value: kind.none },
  );
}

const valid: readonly (readonly [what: string, parsed: unknown, value: unknown])[] = [
  ["a whole number", count.parse("12"), 12],
  ["a number with a point", amount.parse(" 1.5 "), 1.5],
  [
    "models by category, and one for everything",
    all(models, " driving = gpt-5-mini ", "work=a=b", "b/c:d", "__proto__=m"),
    { driving: "gpt-5-mini", work: "a=b", "*": "b/c:d", ["__proto__"]: "m" },
  ],
  [
    "parameters, whose values may be anything",
    all(params, "A=b=c", " B = x ", "C=", "__proto__=d"),
    { A: "b=c", B: " x ", C: "", ["__proto__"]: "d" },
  ],
  [
    "answers to an ASK, in their order",
    all(answers, "ASK_A=yes", "ASK_B=", "ASK_A=a=b"),
    { ASK_A: ["yes", "a=b"], ASK_B: [""] },
  ],
  ["names of the environment", all(envNames, "CI", " HOME ", "CI"), ["HOME", "CI"]],
];
for (const [what, parsed, value] of valid)
  test(`an option takes ${what}`, () => assert.deepEqual(parsed, { kind: "value", value }));

const refused: readonly (readonly [what: string, Kind<unknown>, string[], RegExp])[] = [
  [
    "a number that isn't positive and decimal",
    amount,
    ["", "0", "-1", "1e3", "0x10", "Infinity", "NaN", "1_000", "soon", "."],
    /^must be a number greater than 0, not "/,
  ],
  ["a fraction of a whole", count, ["1.5", "9007199254740993"], /^must be a whole number/],
  ["half of a model", models, ["", "=id", "driving=", " = "], /or category=id, for example/],
  ["a parameter without a name", params, ["", "A", "=x", " =x"], /form NAME=value, for example/],
  [
    "a name that no parameter has",
    params,
    ["A B=1", "1A=1", "A-B=1", "ä=1", `${"A".repeat(101)}=1`],
    /has the name ".*\. A name consists of/,
  ],
  [
    "a parameter that the run sets itself",
    params,
    ["STATUS=1", "RESULT=1", "CONTENT=1", "USER_INPUT=1"],
    /can't be a parameter/,
  ],
  ["an answer to no ASK", answers, ["NAME=x", "ASK A=x", "ask_a=x"], /has the id of its ASK/],
  ["the value of a variable", envNames, ["A=b"], /value is taken from the environment/],
  [
    "what is no name of a variable",
    envNames,
    ["", "A B", "*", "A-B"],
    /must be the name of an environment/,
  ],
];
for (const [what, kind, texts, reason] of refused)
  test(`an option refuses ${what}`, () => {
    for (const text of texts) assert.match(problem(kind.parse(text)), reason, text);
  });

test("a category or a parameter is named once", () => {
  assert.match(JSON.stringify(all(models, "a=1", "a=2")), /names the category \\"a\\" twice/);
  assert.match(JSON.stringify(all(params, "A=1", "A=1")), /names the parameter \\"A\\" twice/);
});

test("an input has lines of NAME=value, or several lines between NAME<<END and END", () => {
  const text = "\n A = b \r\nB=<<x= y\nC<<END\n  one\n\nD=no\nENDE\nEND\nD<<-\n-\nE=f<<g\n";
  const read = (given: string): readonly Parsed<unknown>[] =>
    params.lines(given).map(({ argument }) => andThen(argument, (one) => params.parse(one)));
  const values = ["b", "<<x= y", "  one\n\nD=no\nENDE", "", "f<<g"].map((value, at) => ({
    kind: "value",
    value: { ["ABCDE".charAt(at)]: value },
  }));
  assert.deepEqual(read(text), values);
  for (const [wrong, why] of [
    ["A=1\nB\nC=2", /form NAME=value, for example BRANCH=main/],
    ["A=1\nB<<END\nC=2", /no line "END" ends it/],
    ["A=1\nB<<\nC=2", /no line "" ends it/],
  ] as const)
    assert.match(read(wrong).map(problem).join(""), why);
});

describe("a provider", () => {
  const problems = (given: Parameters<typeof readProvider>[0]): readonly string[] =>
    readProvider(given, asFlag).problems;

  it("has defaults beside its address", () => {
    const baseUrl = "http://127.0.0.1:11434/v1";
    assert.deepEqual(readProvider({ providerBaseUrl: baseUrl, providerApiKey: "k" }, asFlag), {
      provider: { baseUrl, type: "openai", wireApi: "completions", apiKey: "k" },
      problems: [],
    });
    assert.deepEqual(readProvider({ providerApiKey: "k" }, asFlag), {
      provider: undefined,
      problems: [],
    });
  });

  it("is named by its address: nothing else of it stands alone", () => {
    assert.deepEqual(problems({ providerType: "azure", providerWireApi: "responses" }), [
      "--provider-type needs --provider-base-url.",
      "--provider-wire-api needs --provider-base-url.",
    ]);
  });

  it("has an http address without a password, which is never shown", () => {
    const wrong = /must be an http or https address, such as/;
    for (const baseUrl of ["", "models.example", "localhost:1/v1", "file:///etc/passwd", "http:"])
      assert.match(problems({ providerBaseUrl: baseUrl }).join(), wrong, baseUrl);
    const said =
      /contains a user name or a password: pass the key with --provider-api-key instead\.$/;
    for (const baseUrl of ["https://hunter2@models.example", "http://me:hunter2@models.example"]) {
      const [found = ""] = problems({ providerBaseUrl: baseUrl });
      assert.match(found, said);
      assert.doesNotMatch(found, /hunter2/);
    }
  });
});

describe("the environment of an application", () => {
  it("says which server and models its default host uses", () => {
    const variables = {
      AGENT_JOBS_PROVIDER_BASE_URL: "http://127.0.0.1:1/v1",
      AGENT_JOBS_PROVIDER_TYPE: "azure",
      AGENT_JOBS_PROVIDER_WIRE_API: "",
      AGENT_JOBS_PROVIDER_API_KEY: "key",
      AGENT_JOBS_MODEL: "driving=m",
    };
    const { provider, models: named } = modelsOfEnvironment(variables);
    assert.deepEqual(named, { driving: "m" });
    const { baseUrl, type, wireApi, apiKey } = provider ?? assert.fail();
    assert.deepEqual(
      [baseUrl, type, wireApi, apiKey],
      ["http://127.0.0.1:1/v1", "azure", "completions", "key"],
    );
  });

  for (const [variables, problem] of [
    [
      { AGENT_JOBS_PROVIDER_TYPE: "azure" },
      /AGENT_JOBS_PROVIDER_TYPE needs AGENT_JOBS_PROVIDER_BASE_URL/,
    ],
    [{ AGENT_JOBS_PROVIDER_TYPE: "other" }, /AGENT_JOBS_PROVIDER_TYPE must be one of/],
    [{ AGENT_JOBS_PROVIDER_BASE_URL: "ftp://x" }, /AGENT_JOBS_PROVIDER_BASE_URL must be an http/],
  ] as const)
    it(`is refused for ${problem.source}`, () => {
      assert.throws(() => modelsOfEnvironment(variables), problem);
    });

  it("may have a key that nobody needs", () => {
    assert.deepEqual(modelsOfEnvironment({ AGENT_JOBS_PROVIDER_API_KEY: "key" }), {
      provider: undefined,
      models: undefined,
    });
  });
});
