import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  type Recipe,
  dockerfileOf,
  imageOf,
  needsDocker,
  readRecipe,
  scriptOf,
} from "../../src/tools/builds.ts";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { holds } from "../rig/fuzz.ts";

function recipe(text: string): Recipe {
  const read = readRecipe(text, "tools/build.tool.yml");
  if (read.kind === "rejected") throw new Error(read.diagnostics.map(diagnosticLine).join("\n"));
  return read.recipe;
}

const whole = `
from: node:24-slim
packages: [jq, "ripgrep=14.1.1-1+b4"]
run:
  - npm install --global typescript@5
  - |
    cat <<END > /etc/motd
    "$HOME" is \\ here
    END
env:
  GREETING: say "hi" to $USER \\ 'all'
  EMPTY: ""
`;

test("a recipe becomes this Dockerfile, and another one another image", () => {
  const fixture = new URL("../../../test/fixtures/recipe.Dockerfile", import.meta.url);
  assert.equal(dockerfileOf(recipe(whole)), readFileSync(fixture, "utf8"));
  assert.equal(dockerfileOf({}), "FROM debian:13-slim\n");
  const image = imageOf(dockerfileOf({}));
  assert.match(image, /^agent-jobs-tool:[0-9a-f]{32}$/);
  assert.notEqual(imageOf(dockerfileOf({ from: "node:24" })), image);
});

test("mistakes in a recipe have positions and hints", () => {
  const read = readRecipe(
    `form: node\npackages: ["-y", "jq; id"]\nrun: npm ci\nenv: {"A B": x, C: "a\\nb"}\n`,
    "tools/build.tool.yml",
  );
  assert.ok(read.kind === "rejected");
  const at = "tools/build.tool.yml";
  assert.deepEqual(read.diagnostics.map(diagnosticLine), [
    `${at}:1:7: recipe.form: Unknown field "form". (did you mean "from"?)`,
    `${at}:2:12: recipe.packages[0]: Must be the name of a Debian package, or name=version.`,
    `${at}:2:18: recipe.packages[1]: Must be the name of a Debian package, or name=version.`,
    `${at}:3:6: recipe.run: Must be a list, not the text "npm ci". (write ["npm ci"])`,
    `${at}:4:14: recipe.env["A B"]: "A B" can't be a name here.`,
    `${at}:4:20: recipe.env["C"]: Must be one line without control characters.`,
  ]);
});

for (const from of ["node AS x", "$IMAGE", "--platform=x", "a\nRUN id", ""]) {
  test(`${JSON.stringify(from)} is no image`, () => {
    assert.equal(readRecipe(JSON.stringify({ from }), "x").kind, "rejected");
  });
}

test("a recipe of lines and variables can do without Docker, one with an image or packages can't", () => {
  const lines: Recipe = { run: ["npm ci"], env: { A: "1" } };
  assert.equal(needsDocker(lines), undefined);
  assert.equal(scriptOf(lines), "export A='1'\n/bin/sh -ec 'npm ci'\n");
  const needs = "the image node:24-slim and the packages jq, ripgrep=14.1.1-1+b4";
  assert.equal(needsDocker(recipe(whole)), needs);
});

/** Reads a Dockerfile as Docker does, as far as ours need it: continuations, `ENV` in quotes, lists in `RUN`. */
function parseDockerfile(text: string): {
  readonly env: Record<string, string>;
  readonly run: string[];
  readonly rest: string[];
} {
  const env: Record<string, string> = {};
  const run: string[] = [];
  const rest: string[] = [];
  for (const line of text.replaceAll(/\\[ \t]*\n/g, "").split("\n")) {
    const variable = /^ENV (\w+)="((?:[^"\\]|\\.)*)"$/.exec(line);
    if (variable !== null) {
      const [, name = "", value = ""] = variable;
      // A dollar that isn't escaped would be a variable.
      assert.doesNotMatch(value.replaceAll(/\\./g, ""), /\$/);
      env[name] = value.replaceAll(/\\(["\\$])/g, "$1");
    } else if (line.startsWith("RUN [")) {
      const [, , script]: string[] = JSON.parse(line.slice(4));
      run.push(script ?? "");
    } else if (line !== "") rest.push(line);
  }
  return { env, run, rest };
}

const line = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 40 })
  .map((text) => text.replaceAll("\0", ""));
const nasty = fc.string({
  unit: fc.constantFrom(...Array.from("\"'\\$`{}[],; \t#<>|&\nEOF=a")),
  minLength: 1,
  maxLength: 30,
});
const values = fc
  .oneof(line, nasty)
  // oxlint-disable-next-line no-control-regex
  .map((text) => text.replaceAll(/[\u0000-\u001f\u007f]/g, ""));
const variables = fc.dictionary(fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,5}$/), values, {
  maxKeys: 3,
});
const scripts = fc.array(
  fc.oneof(line, nasty).filter((text) => text !== ""),
  { maxLength: 3 },
);

test("whatever is in a recipe, Docker reads the same lines and values from the Dockerfile", async (t) => {
  const property = fc.property(variables, scripts, (env, run) => {
    const parsed = parseDockerfile(dockerfileOf({ env, run }));
    assert.deepEqual(parsed.env, { ...env });
    // Half of a character is escaped, so that the file is text.
    assert.deepEqual(parsed.run, run);
    assert.deepEqual(parsed.rest, ["FROM debian:13-slim"]);
  });
  await holds(t, property, 300);
});

test("whatever is in a recipe, a shell reads the same values from the script", async (t) => {
  const value = values.filter((text) => Buffer.from(text).toString() === text);
  const property = fc.property(value, (text) => {
    const script = scriptOf({ env: { VALUE: text }, run: ['printf %s "$VALUE"'] });
    assert.equal(execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }), text);
  });
  await holds(t, property, 20);
});
