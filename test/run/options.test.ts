import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  asFlag,
  limitsOf,
  parseAnswer,
  parseChoice,
  parseEnvName,
  parseModel,
  parseNumber,
  parseParam,
  readAssignments,
  type Parsed,
} from "../../src/run/options.ts";
import { readProvider, type GivenProvider } from "../../src/run/options-provider.ts";

const problem = (parsed: Parsed<unknown>): string =>
  parsed.kind === "wrong" ? parsed.problem : "";

describe("the values of options and inputs", () => {
  it("are numbers greater than 0 in decimal digits", () => {
    assert.deepEqual(parseNumber("12", "a whole number"), { kind: "value", value: 12 });
    assert.deepEqual(parseNumber(" 1.5 ", "a number"), { kind: "value", value: 1.5 });
    const wrong = /^must be a number greater than 0, not "/;
    for (const text of ["", "0", "-1", "1e3", "0x10", "Infinity", "NaN", "1_000", "soon", "."])
      assert.match(problem(parseNumber(text, "a number")), wrong, text);
    for (const text of ["1.5", "9007199254740993"]) {
      assert.match(problem(parseNumber(text, "a whole number")), /^must be a whole number/, text);
    }
  });

  it("are one of a list, with a suggestion for a misspelled one", () => {
    const values = ["read-only", "workspace", "all"];
    assert.deepEqual(parseChoice("all", values), { kind: "value", value: "all" });
    assert.deepEqual(parseChoice("Workspace", values), {
      kind: "wrong",
      problem:
        'must be one of read-only, workspace, all, not "Workspace" (did you mean "workspace"?)',
    });
  });

  it("are models by category, each named once", () => {
    const first = parseModel(" driving = gpt-5-mini ");
    assert.deepEqual(first, { kind: "value", value: { driving: "gpt-5-mini" } });
    const models = first.kind === "value" ? first.value : {};
    const both = { driving: "gpt-5-mini", work: "a=b" };
    assert.deepEqual(parseModel("work=a=b", models), { kind: "value", value: both });
    const twice = problem(parseModel("driving=other", models));
    assert.equal(twice, 'names the category "driving" twice');
    assert.deepEqual(parseModel("b/c:d"), { kind: "value", value: { "*": "b/c:d" } });
    for (const text of ["", "=id", "driving=", " = "]) {
      assert.match(problem(parseModel(text)), /or category=id, for example/, text);
    }
    assert.deepEqual(parseModel("__proto__=m"), {
      kind: "value",
      value: Object.fromEntries([["__proto__", "m"]]),
    });
  });

  it("set limits in the name of the option", () => {
    assert.deepEqual(limitsOf({ maxParallel: 2 }, asFlag), {
      limits: { parallel: 2 },
      limitNames: { parallel: "--max-parallel", jobMinutes: "--timeout-minutes" },
    });
  });
});

describe("a provider", () => {
  const nothing = { baseUrl: undefined, apiKey: undefined, type: undefined, wireApi: undefined };
  const problems = (given: Partial<GivenProvider>): readonly string[] =>
    readProvider({ ...nothing, ...given }, asFlag).problems;

  it("has defaults beside its address", () => {
    const baseUrl = "http://127.0.0.1:11434/v1";
    assert.deepEqual(readProvider({ ...nothing, baseUrl, apiKey: "k" }, asFlag), {
      provider: { baseUrl, type: "openai", wireApi: "completions", apiKey: "k" },
      problems: [],
    });
    assert.deepEqual(readProvider(nothing, asFlag), { provider: undefined, problems: [] });
  });

  it("is named by its address: nothing else of it stands alone", () => {
    assert.deepEqual(problems({ apiKey: "k", type: "azure", wireApi: "responses" }), [
      "--provider-api-key needs --provider-base-url.",
      "--provider-type needs --provider-base-url.",
      "--provider-wire-api needs --provider-base-url.",
    ]);
  });

  it("has an http address without a password, which is never shown", () => {
    const wrong = /must be an http or https address, such as/;
    for (const baseUrl of ["", "models.example", "localhost:1/v1", "file:///etc/passwd", "http:"])
      assert.match(problems({ baseUrl }).join(), wrong, baseUrl);
    const said =
      /contains a user name or a password: pass the key with --provider-api-key instead\.$/;
    for (const baseUrl of ["https://hunter2@models.example", "http://me:hunter2@models.example"]) {
      const [found = ""] = problems({ baseUrl });
      assert.match(found, said);
      assert.doesNotMatch(found, /hunter2/);
    }
  });
});

/** Parses one after the other, as a repeated option is; throws the first problem. */
function all<T>(parse: (text: string, earlier?: T) => Parsed<T>, ...texts: string[]): T {
  let value: T | undefined;
  for (const text of texts) {
    const parsed: Parsed<T> = value === undefined ? parse(text) : parse(text, value);
    if (parsed.kind === "wrong") throw new Error(parsed.problem);
    value = parsed.value;
  }
  assert.ok(value !== undefined);
  return value;
}

describe("the options of workflows", () => {
  it("are parameters by name, each given once, whose values may be anything", () => {
    assert.deepEqual(all(parseParam, "A=b=c", " B = x ", "C=", "__proto__=d"), {
      A: "b=c",
      B: " x ",
      C: "",
      ["__proto__"]: "d",
    });
    assert.throws(() => all(parseParam, "A=1", "A=1"), /names the parameter "A" twice/);
    for (const text of ["", "A", "=x", " =x"]) {
      assert.match(problem(parseParam(text)), /form NAME=value, for example/, text);
    }
    for (const text of ["A B=1", "1A=1", "A-B=1", "ä=1", `${"A".repeat(101)}=1`]) {
      assert.match(problem(parseParam(text)), /has the name ".*\. A name consists of/, text);
    }
    for (const name of ["STATUS", "RESULT", "CONTENT", "USER_INPUT"]) {
      assert.match(problem(parseParam(`${name}=1`)), /can't be a parameter/);
    }
  });

  it("are answers by the id of the ASK, in the order in which they are given", () => {
    assert.deepEqual(all(parseAnswer, "ASK_A=yes", "ASK_B=", "ASK_A=a=b"), {
      ASK_A: ["yes", "a=b"],
      ASK_B: [""],
    });
    assert.match(problem(parseAnswer("ASK_A")), /form NAME=value, for example ASK_NAME=yes/);
    for (const text of ["NAME=x", "ASK A=x", "ask_a=x"]) {
      assert.match(problem(parseAnswer(text)), /has the id of its ASK/, text);
    }
  });

  it("are names of the environment, never values", () => {
    assert.deepEqual(all(parseEnvName, "CI", " HOME ", "CI"), ["HOME", "CI"]);
    assert.match(problem(parseEnvName("A=b")), /value is taken from the environment/);
    for (const text of ["", "A B", "*", "A-B"]) {
      assert.match(problem(parseEnvName(text)), /must be the name of an environment/, text);
    }
  });

  it("are lines of NAME=value, or several lines between NAME<<END and END", () => {
    const text = "\n A = b \r\nB=<<x\nC<<END\n  one\n\nD=no\nENDE\nEND\nD<<-\n-\nE=f<<g\n";
    assert.deepEqual(
      readAssignments(text, "A=b").map((read) => (read.kind === "value" ? read.value : read)),
      [
        ["A", "b"],
        ["B", "<<x"],
        ["C", "  one\n\nD=no\nENDE"],
        ["D", ""],
        ["E", "f<<g"],
      ],
    );
    for (const [wrong, why] of [
      ["A=1\nB\nC=2", /form NAME=value, for example A=b/],
      ["A=1\nB<<END\nC=2", /no line "END" ends it/],
      ["A=1\nB<<\nC=2", /no line "" ends it/],
    ] as const) {
      const problems = readAssignments(wrong, "A=b").filter((read) => read.kind === "wrong");
      assert.equal(problems.length, 1);
      assert.match(problems[0]?.problem ?? "", why);
    }
  });
});
