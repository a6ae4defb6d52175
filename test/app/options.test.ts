import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asFlag, limitsOf, parseChoice, parseModel, parseNumber } from "../../src/app/options.ts";
import { readProvider, type GivenProvider } from "../../src/app/options-provider.ts";

const problem = (parsed: ReturnType<typeof parseNumber | typeof parseModel>): string =>
  parsed.kind === "wrong" ? parsed.problem : "";

describe("the values of options and inputs", () => {
  it("are numbers greater than 0 in decimal digits", () => {
    assert.deepEqual(parseNumber("12", "a whole number"), { kind: "value", value: 12 });
    assert.deepEqual(parseNumber(" 1.5 ", "a number"), { kind: "value", value: 1.5 });
    for (const text of ["", "0", "-1", "1e3", "0x10", "Infinity", "NaN", "1_000", "soon", "."]) {
      assert.match(
        problem(parseNumber(text, "a number")),
        /^must be a number greater than 0, not "/,
        text,
      );
    }
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
    assert.deepEqual(parseModel("work=a=b", models), {
      kind: "value",
      value: { driving: "gpt-5-mini", work: "a=b" },
    });
    assert.equal(
      problem(parseModel("driving=other", models)),
      'names the category "driving" twice',
    );
    for (const text of ["driving", "=id", "driving=", " = "]) {
      assert.match(problem(parseModel(text)), /form category=id, for example/, text);
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
    for (const baseUrl of ["", "models.example", "localhost:1/v1", "file:///etc/passwd", "http:"]) {
      assert.match(
        problems({ baseUrl }).join(),
        /must be an http or https address, such as/,
        baseUrl,
      );
    }
    for (const baseUrl of ["https://hunter2@models.example", "http://me:hunter2@models.example"]) {
      const [found = ""] = problems({ baseUrl });
      assert.match(
        found,
        /contains a user name or a password: pass the key with --provider-api-key instead\.$/,
      );
      assert.doesNotMatch(found, /hunter2/);
    }
  });
});
