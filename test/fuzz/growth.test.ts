/** What a model or an author sends is judged, refused or read in time that grows no faster than its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { partsMatch, readGlob } from "../../src/entry/glob.ts";
import type { Permissions } from "../../src/entry/model.ts";
import { type PermissionRequest, decidePermission } from "../../src/permissions/policy.ts";
import { isPrivate } from "../../src/platform/private-files.ts";
import { fromRuntime } from "../../src/sessions/permission-handler.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInCalls, linearInTime, pumped } from "../rig/growth.ts";
import { createCatalogue } from "../../src/protocol/catalogue.ts";
import { preflight, type Preflight } from "../../src/protocol/preflight.ts";
import { problemsText } from "../../src/protocol/delivery.ts";
import { readMessage } from "../../src/protocol/read-message.ts";
import { nightly } from "../rig/nightly.ts";
import {
  action,
  anyParams,
  documentOf,
  group,
  internal,
  type Json,
  tool,
} from "../protocol/rig.ts";
import { filesOf, load, workflowText } from "../workflow/rig.ts";

/** Only what has at most `depth` parts exists; every call is counted. */
function countingFiles(depth: number): {
  readonly context: Parameters<typeof decidePermission>[2];
  readonly calls: () => number;
} {
  let calls = 0;
  const exists = (path: string): boolean => {
    calls += 1;
    return path.split("/").length <= depth;
  };
  const missing = (): never => {
    throw Object.assign(new Error("missing"), { code: "ENOENT" });
  };
  return {
    calls: () => calls,
    context: {
      workingDirectory: "/repo",
      home: "/home/me",
      platform: "linux",
      realpath: (path) => (exists(path) ? path : missing()),
      isThere: exists,
      linkTarget: (path) => {
        exists(path);
        return undefined;
      },
    },
  };
}

const rules: readonly Permissions[] = [
  "read-only",
  "workspace",
  { read: ["!secrets/**", "!**/*a*a*a*a*b"], write: ["src/**", "*a*a*a*a*b", "!~/x"] },
  { preset: "all", read: ["!**/a/**/a/**/a/**/b"], url: ["!*.a.*.a.*.b"], shell: ["!x"] },
];

function asPath(kind: "read" | "write", path: string): PermissionRequest {
  return kind === "read" ? { kind, paths: [path], deep: true } : { kind, paths: [path] };
}

test("the file system is asked in proportion to a path, whatever of it exists", () => {
  for (const permissions of rules) {
    for (const depth of [2, 50, 10_000]) {
      for (const unit of ["a/", "a/../", "../", "./", "//", "\\\\"]) {
        linearInCalls({
          name: `${JSON.stringify(permissions)} ${unit} ${depth}`,
          sizes: [32, 4_000],
          make: (size) => `/repo/${unit.repeat(size / unit.length)}`,
          count: (path) => {
            const { context, calls } = countingFiles(depth);
            decidePermission(permissions, asPath("read", path), context);
            decidePermission(permissions, asPath("write", path), context);
            return calls();
          },
        });
      }
    }
  }
});

test("a path over 4,096 bytes is refused without a look at the file system", () => {
  const { context, calls } = countingFiles(3);
  for (const path of [`/repo/${"a/".repeat(2_046)}`, `/repo/${"é".repeat(2_046)}`]) {
    const decision = decidePermission("workspace", asPath("write", path), context);
    assert.ok(decision.kind === "denied" && decision.reason.includes("longer than 4096 bytes"));
    assert.ok(decision.target.length <= 1_001);
  }
  assert.equal(calls(), 0);
});

const pathPieces = [..."a A b / ../ ./ .env . * ~ - \\\\ gha-creds- .json".split(" "), " "];

test("paths are judged in linear time", async (t) => {
  const property = fc.property(
    pumped(pathPieces),
    fc.constantFrom(...rules),
    (path, permissions) => {
      linearInTime({
        name: "a path",
        sizes: [500, 4_000],
        make: (size) => `/repo/${path(size)}`,
        run: (text) =>
          decidePermission(permissions, asPath("write", text), countingFiles(5).context),
      });
      linearInTime({ name: "a private name", sizes: [500, 32_000], make: path, run: isPrivate });
    },
  );
  await holds(t, property, 60);
});

test("globs match in linear time", async (t) => {
  const pieces = ["a", "b", "*", "**", "/", "?", "[ab]", "[!a]", "{a,b}", "\\\\a"];
  const globs = fc
    .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 24 })
    .map((parts) => parts.join(""));
  const property = fc.property(globs, pumped(["a", "b", "/", "ab"]), (glob, path) => {
    const read = readGlob(glob);
    if (typeof read === "string") return;
    linearInTime({
      name: glob,
      sizes: [240, 8_000],
      make: (size) => path(size).split("/"),
      run: (names) => read.map(({ parts }) => partsMatch(parts, names, true)),
    });
  });
  await holds(t, property, 60);
});

test("addresses are judged in linear time, and refused when they are too long", async (t) => {
  const pieces = ["a", ".", "/", "%61", "%", "@", ":", "?", "*", "é", "//"];
  const patterns: Permissions[] = [
    { url: ["https://*.a.*.a.*.b/*a*a*a*b", "!*a*a*b/*a*a*b"] },
    { preset: "all", url: ["!*a*a*a*b/*a*a*b"] },
  ];
  const { context } = countingFiles(3);
  const property = fc.property(pumped(pieces), fc.constantFrom(...patterns), (url, permissions) => {
    linearInTime({
      name: "an address",
      sizes: [500, 8_000],
      make: (size) => `https://a.example/${url(size)}`,
      run: (text) => decidePermission(permissions, { kind: "url", url: text }, context),
    });
  });
  await holds(t, property, 40);
  const long = { kind: "url", url: `https://a.example/${"a".repeat(9_000)}` } as const;
  const decision = decidePermission({ url: ["a.example"] }, long, context);
  assert.ok(decision.kind === "denied" && decision.reason.includes("longer than"));
});

test("requests of the runtime are read in linear time", async (t) => {
  const pieces = ["--- a", "+++ b", "\n", "@@", "/x", "move", " ", "copy"];
  const property = fc.property(pumped(pieces), (text) => {
    linearInTime({
      name: "a diff",
      sizes: [2_000, 128_000],
      make: text,
      run: (diff) =>
        fromRuntime({
          kind: "write",
          fileName: "x",
          diff,
          intention: diff,
          canOfferSessionApproval: false,
        }),
    });
  });
  await holds(t, property, 40);
});

const item = { type: "object", required: ["x", "y", "z"], properties: { next: {} } };
const catalogue = createCatalogue({
  tools: [
    tool("any"),
    tool("none", { parameters: { ...anyParams, additionalProperties: false } }),
    tool("items", {
      parameters: {
        ...anyParams,
        properties: { items: { type: "array", items: { $ref: "#/$defs/item" } } },
        $defs: { item },
      },
    }),
  ],
});
const known = { iteration: 1, hasTask: () => false, hasVariable: () => false };

function refuse(answer: string): Preflight {
  const read = readMessage(answer);
  return read.kind === "read" ? preflight(read.document, catalogue, known) : read;
}

const times = <T>(size: number, make: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index));
const params = (fields: Json, name = "any"): string =>
  documentOf([action(name, { params: fields })]);
const named = (size: number): Json => Object.fromEntries(times(size, (index) => [`k${index}`, 1]));

/** Up to about the limit of values, or with texts whose length is not bounded otherwise. */
const documents: Readonly<Record<string, (size: number) => string>> = {
  "actions that are empty": (size) => documentOf(times(size, () => ({}))),
  "actions that are numbers": (size) => JSON.stringify({ actions: times(size, () => 1) }),
  "thoughts that are empty": (size) => documentOf([], { thoughts: times(size, () => ({})) }),
  "empty actions in thoughts": (size) =>
    documentOf([], { thoughts: [{ type: "PLAN", content: "", actions: times(size, () => ({})) }] }),
  "empty actions in a group": (size) =>
    documentOf([
      group(
        "g",
        times(size, () => ({})),
      ),
    ]),
  "groups of empty actions": (size) =>
    documentOf(
      times(30, (nth) =>
        group(
          `g${nth}`,
          times(size / 40, () => ({})),
        ),
      ),
    ),
  "an empty card in each action": (size) =>
    documentOf(times(size / 4, () => internal("trap_card", { action: {} }))),
  "actions with few fields": (size) => documentOf(times(size / 4, () => action("any"))),
  "unknown fields": (size) => documentOf([], named(size)),
  "unknown relics": (size) =>
    documentOf([], { context: { knowledge_relics: times(size, (index) => `r${index % 50}`) } }),
  "unknown dependencies": (size) =>
    documentOf([action("any", { depends_on: times(size, (index) => `a${index}`) })]),
  "wrong variables": (size) =>
    documentOf([], { context: { variables: { ...named(size), "a-b": 1 } } }),
  "unknown params": (size) => params(named(size), "none"),
  "wrong items": (size) => params({ items: times(size, () => ({})) }, "items"),
  "wrong items among references": (size) =>
    params({ items: times(size, (nth) => (nth % 2 ? {} : `\${{variables.x${nth}}}`)) }, "items"),
  "references to nothing": (size) =>
    params({ list: times(size, (index) => `\${{variables.x${index}}}`) }),
  "references to nothing in a text": (size) => params({ text: "${{variables.x}} ".repeat(size) }),
  openings: (size) => params({ text: "${{".repeat(size) }),
  "openings and ends": (size) => params({ text: `${"${{".repeat(size)}${"}}".repeat(size)}` }),
  fences: (size) => "```\n".repeat(size),
  brackets: (size) => "[".repeat(size * 10),
  "duplicate keys": (size) => `{${`"a":1,`.repeat(size)}"a":1}`,
  "trailing commas": (size) => `[${",".repeat(size * 10)}]`,
  "spaces around a document": (size) => `${" \n".repeat(size * 10)}{}${"\t \n".repeat(size * 10)}`,
  "a beginning of a fence": (size) => `\`\`\`${" ".repeat(size * 10)}!\n{}\n\`\`\``,
  "a long fence": (size) => `${"`".repeat(size * 10)}!\n{}\n${"`".repeat(size * 10)}`,
  "spaces before the end of a fence": (size) => `\`\`\`json\n{}${" ".repeat(size * 10)}x\n\`\`\``,
};

for (const [name, make] of Object.entries(documents)) {
  test(`${name} are refused in linear time, with a short answer`, () => {
    const longest = refuse(make(nightly ? 9_000 : 1_500));
    assert.ok(longest.kind === "rejected");
    assert.ok(longest.problems.length <= 21, `${longest.problems.length} problems`);
    assert.ok(problemsText(longest.problems).length < 20_000);
    linearInTime({ name, make, run: refuse, sizes: [500, 8_000] });
  });
}

test("a document of 10 MB is refused without being read", () => {
  linearInTime({
    name: "a long answer",
    make: (size) => documentOf([], { response: "x".repeat(size * 100) }),
    run: refuse,
    sizes: [12_500, 100_000],
  });
});

const lines = (make: (index: number) => string, size: number): string =>
  Array.from({ length: size }, (_, index) => make(index)).join("\n");
const files = filesOf({ "b.wf.md": workflowText("START --> SUCCESS"), "b.md": "text" });

const workflows: Readonly<Record<string, (size: number) => string>> = {
  "a chain of prompts": (size) =>
    workflowText(
      `START --> PROMPT_0\n${lines((one) => `PROMPT_${one}[Prompt: User ${one}] --> PROMPT_${one + 1}`, size)}\nPROMPT_${size}[Prompt: User 0]`,
      lines((one) => `## User ${one}\n\n{{RESULT}}\n`, size),
    ),
  "unknown activities": (size) => workflowText(lines((one) => `X${one} --> Y${one}`, size)),
  "unclosed edges": (size) => workflowText("A -- x\n".repeat(size)),
  groups: (size) => workflowText(`START --> ${"A & ".repeat(size)}A --> ${"B & ".repeat(size)}B`),
  "nested brackets": (size) => workflowText(`A${"[".repeat(size)}${"]".repeat(size)}`),
  parameters: (size) => workflowText(`PARAMS["${lines((one) => `A${one}=1,`, size)}"]`),
  "nodes of parameters": (size) => workflowText(lines((one) => `PARAMS_${one}["A${one}"]`, size)),
  calls: (size) => workflowText(lines((one) => `CALL_${one}[[b.wf.md]]`, size)),
  includes: (size) => `# Prompts\n## User A\n${'!INCLUDE "b.md"\n'.repeat(size)}`,
  sections: (size) => "# Workflow\n# Prompts\n".repeat(size),
  "prompts of one name": (size) => `# Prompts\n${"## User A\n".repeat(size)}`,
  headings: (size) => `# Prompts\n${"## Usr A\n".repeat(size)}`,
  "empty lines": (size) => `# Prompts\n## User A\n${"\n".repeat(size * 10)}x\n`,
  fences: (size) => `# Workflow\n${"```mermaid\ngraph TD\n```\n".repeat(size)}`,
  lists: (size) => "- item\n".repeat(size),
  braces: (size) => `# Prompts\n## User A\n${"{{".repeat(size * 10)}`,
  "an expression": (size) => workflowText(`START --> CHECK_A{${"a ".repeat(size)}}`),
};

for (const [name, make] of Object.entries(workflows)) {
  test(`${name} are read in linear time`, () => {
    linearInTime({ name, make, run: (text) => load(text, { files }), sizes: [500, 8_000] });
  });
}
