import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { DiagnosticsError } from "../../src/document/diagnostic.ts";
import { type Prompt, runtimeVariables } from "../../src/entry/model.ts";
import { expandPromptDynamic, expandPromptStatic, promptLimits } from "../../src/entry/prompt.ts";

type Variables = Readonly<Record<string, Prompt>>;

const statically = (prompt: Prompt, promptVariables: Variables = {}): string =>
  expandPromptStatic({ promptVariables }, "here", prompt)[0];
const dynamically = (prompt: Prompt, values: Readonly<Record<string, string>> = {}): string =>
  expandPromptDynamic({}, prompt, values)[0];

/** The message of the first fault. */
function fault(
  prompt: Prompt,
  promptVariables: Variables = {},
  requiresBooleanTool = false,
): string {
  try {
    expandPromptStatic({ promptVariables }, "here", prompt, requiresBooleanTool);
  } catch (error) {
    if (error instanceof DiagnosticsError) return error.message;
    throw error;
  }
  return "no fault";
}

describe("expandPromptStatic", () => {
  it("joins lines with LF; a text is one item", () => {
    assert.equal(statically(["a", "", "b"]), "a\n\nb");
    assert.equal(statically("a\nb"), "a\nb");
    assert.deepEqual(expandPromptStatic({}, "here", ["a", "b"]), ["a\nb"]);
  });

  it("inserts variables, recursively, each as often as it is used", () => {
    const variables = { outer: ["<", "$inner", ">"], inner: "$leaf-a$leaf-a", "leaf-a": "x" };
    assert.equal(statically("$outer, $inner.", variables), "<\nxx\n>, xx.");
  });

  it("keeps runtime variables", () => {
    const all = runtimeVariables.join(" ");
    assert.equal(statically(all), all);
    assert.equal(statically("$v", { v: all }), all);
  });

  it("lets a prompt variable stand before a runtime variable of the same name", () => {
    assert.equal(statically("$user-input", { "user-input": "fixed" }), "fixed");
  });

  it("takes the longest name: letters and digits, joined by single hyphens", () => {
    const variables = { a: "A", "a-b": "AB", "a-b2-c": "ABC", x1: "X" };
    assert.equal(statically("$a $a-b $a-b2-c $x1", variables), "A AB ABC X");
    assert.equal(statically("$a- $a-- $a-1 $a_b $a.b ($a)", variables), "A- A-- A-1 A_b A.b (A)");
  });

  it("keeps every other $ as it is", () => {
    for (const text of ["$5", "$", "a$", "$ a", "$-a", "$_x", "${HOME}", "$(ls)", "$é"]) {
      assert.equal(statically(text), text);
      assert.equal(dynamically(text), text);
    }
  });

  it("keeps $$, which hides a variable", () => {
    assert.equal(
      statically("$$HOME $$user-input $$$$ $$$v", { v: "V" }),
      "$$HOME $$user-input $$$$ $$V",
    );
  });

  it("names a variable that does not exist, with its path", () => {
    assert.equal(fault("$nope"), "here: Cannot find prompt variable: $nope.");
    const variables = { a: "$b", b: "$nope" };
    assert.equal(fault("x $a", variables), "here/$a/$b: Cannot find prompt variable: $nope.");
  });

  it("does not find what objects inherit", () => {
    for (const name of ["constructor", "toString", "valueOf", "hasOwnProperty"]) {
      assert.equal(fault(`$${name}`), `here: Cannot find prompt variable: $${name}.`);
      assert.equal(statically(`$${name}`, { [name]: "own" }), "own");
    }
  });

  it("collects all faults", () => {
    assert.throws(
      () =>
        expandPromptStatic(
          { promptVariables: { v: ["$two", "$two"] } },
          "p",
          "$one $v $v $one $three",
        ),
      (error: DiagnosticsError) => {
        assert.deepEqual(
          error.diagnostics.map(({ codePath, reason }) => `${codePath}: ${reason}`),
          [
            "p: Cannot find prompt variable: $one.",
            "p/$v: Cannot find prompt variable: $two.",
            "p: Cannot find prompt variable: $three.",
          ],
        );
        return true;
      },
    );
  });

  it("refuses an empty prompt, and an empty variable where it is used", () => {
    for (const empty of [[], "", [""], " \n", ["", "\t"]]) {
      assert.equal(fault(empty), "here: The prompt is empty.");
    }
    assert.equal(fault("x $v", { v: [] }), "here/$v: The prompt is empty.");
    assert.equal(fault("$v", { v: "" }), "here: The prompt is empty.");
    assert.equal(statically("x$v", { v: "" }), "x");
  });

  it("names a cycle, direct or not", () => {
    const direct = fault("$a", { a: "x $a" });
    assert.equal(direct, "here/$a: Prompt variable $a contains itself: $a → $a.");
    const indirect = fault("$x", { x: "$a", a: "$b", b: "$c", c: "$a" });
    assert.equal(
      indirect,
      "here/$x/$a/$b/$c: Prompt variable $a contains itself: $a → $b → $c → $a.",
    );
  });

  it("requires a boolean tool in the expanded prompt, where it is asked to", () => {
    const message = "here: The prompt must mention job_boolean_true or job_boolean_false.";
    assert.equal(fault("yes or no?", {}, true), message);
    assert.equal(fault("job_prepare_document", {}, true), message);
    assert.equal(fault("call job_boolean_true", {}, true), "no fault");
    assert.equal(fault("call $v", { v: "job_boolean_false" }, true), "no fault");
    assert.equal(fault("yes or no?", {}, false), "no fault");
  });

  it("follows a hundred levels, and refuses more", () => {
    const chain = (length: number): Variables =>
      Object.fromEntries(
        Array.from({ length }, (_, level) => [
          `v${level}`,
          level === length - 1 ? "end" : `$v${level + 1}`,
        ]),
      );
    assert.equal(statically("$v0", chain(promptLimits.nesting)), "end");
    assert.match(
      fault("$v0", chain(10_000)),
      /\/\$v98\/\$v99: Variables are nested deeper than 100 levels\.$/,
    );
  });

  it("refuses variables that double, instead of filling the memory", () => {
    const doubling = (leaf: string): Variables => {
      const variables: Record<string, Prompt> = { v40: leaf };
      for (let level = 0; level < 40; level++) {
        variables[`v${level}`] = `$v${level + 1}$v${level + 1}`;
      }
      return variables;
    };
    const tooLong = new RegExp(
      `^here/.*: The prompt expands to more than ${promptLimits.prompt} characters\\.$`,
    );
    assert.match(fault("$v0", doubling("xx")), tooLong);
    assert.equal(statically("x$v0", doubling("")), "x");
  });
});

describe("the parts of a prompt", () => {
  it("mean after joining what they meant before", () => {
    const send = (prompt: string, variables: Variables): string =>
      dynamically(statically(prompt, variables), { "user-input": "INPUT" });
    assert.equal(send("$d$user-input", { d: "$" }), "$INPUT");
    assert.equal(send("$d$w", { d: "$", w: "user-input" }), "$user-input");
    assert.equal(send("$d$d", { d: "$" }), "$$");
    assert.equal(send("$d$e", { d: "$", e: "$$" }), "$$");
    assert.equal(send("$d.", { d: "cost: $" }), "cost: $.");
  });

  it("are refused where a text would become part of a runtime variable's name", () => {
    const message = "here: The text inserted after $user-input would become part of its name.";
    assert.equal(fault("$user-input$w", { w: "s" }), message);
    assert.equal(fault("$user-input$w", { w: "-x" }), message);
    assert.equal(fault("$v$w", { v: "$user-input", w: "1" }), message);
    assert.equal(fault("$user-input$h$w", { h: "-", w: "x" }), message);
    assert.equal(fault("$user-input$w", { w: "-" }), "no fault");
    assert.equal(fault("$user-input$w", { w: ", -x" }), "no fault");
  });
});

describe("expandPromptDynamic", () => {
  it("requires exactly one item", () => {
    assert.deepEqual(expandPromptDynamic({}, ["a"], {}), ["a"]);
    assert.deepEqual(expandPromptDynamic({}, "a", {}), ["a"]);
    for (const prompt of [[], ["a", "b"]]) {
      assert.throws(() => expandPromptDynamic({}, prompt, {}), /exactly one item/);
    }
  });

  it("inserts values, and <MISSING> where there is none", () => {
    const values = { "user-input": "U", "task-model": "" };
    assert.equal(dynamically("$user-input,$task-model,$reported-document", values), "U,,<MISSING>");
  });

  it("inserts a value as it is, never expanding it again", () => {
    const value = "$task-model $$ $& $1 $` <MISSING> $user-input";
    assert.equal(
      dynamically("[$user-input]", { "user-input": value, "task-model": "M" }),
      `[${value}]`,
    );
  });

  it("turns $$ into $", () => {
    assert.equal(
      dynamically("$$HOME $$user-input $$$$ $$$user-input", { "user-input": "U" }),
      "$HOME $user-input $$ $U",
    );
  });

  it("does not find what objects inherit", () => {
    assert.equal(dynamically("$constructor $toString"), "<MISSING> <MISSING>");
  });
});

describe("both expansions", () => {
  /** Pieces with their meaning, given `$user-input` = U and the variables below. */
  const variables = { v: "$w.", w: "(W $$ $user-input)", d: "$" };
  const pieces = fc.constantFrom<[source: string, meaning: string]>(
    ["text", "text"],
    ["$$", "$"],
    ["$5", "$5"],
    ["$", "$"],
    ["$user-input", "$nope"],
    ["$$user-input", "$user-input"],
    ["$$$user-input", "$$nope"],
    ["$v", "(W $ $nope)."],
    ["$w", "(W $ $nope)"],
    ["$d", "$"],
    ["$d$d", "$$"],
    ["$d$w", "$(W $ $nope)"],
    ["$d$user-input$d", "$$nope$"],
    ["$reported-document.", "<MISSING>."],
  );

  it("together mean what their parts mean", () => {
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1 }), (parts) => {
        const source = parts.map(([text]) => text).join("|");
        const meaning = parts.map(([, text]) => text).join("|");
        const sent = dynamically(statically(source, variables), { "user-input": "$nope" });
        assert.equal(sent, meaning);
      }),
    );
  });

  it("change nothing the second time, when static", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            pieces.map(([text]) => text),
            fc.string(),
          ),
        ),
        (parts) => {
          let once: string;
          try {
            once = statically(["x", ...parts], variables);
          } catch {
            return;
          }
          assert.equal(statically(once, variables), once);
        },
      ),
    );
  });

  it("never throw anything but diagnostics", () => {
    const names = fc.constantFrom("a", "b", "c");
    const texts = fc.array(
      fc.oneof(
        fc.string(),
        names.map((name) => `$${name}`),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(fc.dictionary(names, texts), texts, (promptVariables, prompt) => {
        fault(prompt, promptVariables);
      }),
    );
  });
});
