/** The workflows of the README, the documentation and this repository do what they say they do. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { describe, it } from "node:test";
import {
  agentSteps,
  fields,
  jobsOf,
  namesOf,
  optional,
  read,
  recipes,
  templates,
  triggersOf,
  root,
} from "./pages.ts";
import { cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const all = recipes();
const folders = ["entries/", ...["recipes", ...templates].map((name) => `examples/${name}/`)];
const examples = folders.flatMap((folder) =>
  namesOf(folder, /\.(?:ya?ml|wf\.md)$/).map((name) => name.slice(folder.length)),
);

describe("the workflows that people copy", () => {
  it("are found on the pages and in this repository", () => {
    const files = all.map(({ file }) => file);
    for (const file of [
      "README.md",
      "docs/getting-started.md",
      "examples/github/rehearse.yml",
      ".github/workflows/agent-review.yml",
    ])
      assert.ok(files.includes(file), file);
    assert.ok(all.length >= 9, `${all.length} found`);
  });

  it("have entries with rehearsals", () => {
    const named = examples.filter((name) => !/\.rehearsal\.|^agent-|^files-left/.test(name));
    assert.ok(named.length >= 3);
    for (const name of named)
      assert.ok(examples.includes(name.replace(/\.(?:yml|wf\.md)$/, ".rehearsal.yml")), name);
  });

  for (const recipe of all) {
    describe(recipe.title, () => {
      it("has a prompt, or names an entry, and a rehearsal, that is in examples/ to copy", () => {
        if (agentSteps(recipe).some(({ prompt }) => prompt !== undefined)) return;
        const named = agentSteps(recipe).flatMap(({ entry, files = "" }) =>
          [entry, files].flatMap(
            (value) => String(value).match(/[\w./-]+\.(?:ya?ml|wf\.md)/g) ?? [],
          ),
        );
        assert.notEqual(named.length, 0);
        for (const path of named) {
          const copy = path.replace(/^\.github\/agent-jobs\//, "");
          if (copy === path) read(path);
          else assert.ok(examples.includes(copy), path);
        }
      });

      it("uploads nothing where a step was skipped, which has no outputs: an empty path would fail the job", () => {
        for (const { steps } of jobsOf(recipe))
          for (const step of steps) {
            const path = String(optional(step["with"])["path"]).trim();
            const [, output] = /^\$\{\{ (steps\.\S+) \}\}$/.exec(path) ?? [];
            if (output === undefined || !String(step["uses"]).includes("/upload-artifact@"))
              continue;
            assert.match(String(step["if"]), /steps\.\S+ != ''/, path);
          }
      });

      it("runs once at a time", () => {
        assert.ok("group" in fields(recipe.workflow["concurrency"]));
      });

      if (triggersOf(recipe).includes("pull_request"))
        it("is for pull requests: it has their whole history, their base, and leaves drafts alone", () => {
          for (const { job, steps } of jobsOf(recipe)) {
            if (job["needs"] !== undefined) continue;
            assert.match(String(job["if"]), /!github\.event\.pull_request\.draft/);
            const checkout = steps.find(({ uses }) => String(uses).startsWith("actions/checkout@"));
            const inputs = optional(checkout?.["with"]);
            assert.equal(inputs["fetch-depth"], 0);
            // The commit of the event, from which the entry may be taken.
            assert.equal(inputs["ref"], undefined);
          }
        });
    });
  }
});

it("the recipes pass where docs/recipes.md says that they are copied to", async (t) => {
  const folder = new URL("examples/recipes/", root);
  const names = readdirSync(folder, { recursive: true }).map(String);
  const files = names.filter((name) => statSync(new URL(name, folder)).isFile());
  const placed = files.map((name) => {
    const text = read(`examples/recipes/${name}`);
    return [/^(mcp-server|tools)/.test(name) ? name : `.github/agent-jobs/${name}`, text] as const;
  });
  const { path: cwd } = await makeWorkspace(t, Object.fromEntries(placed));
  const { stdout } = await cliExits(0, ["rehearse", "."], { cwd });
  assert.match(stdout, /^1\d passed, 0 failed$/m);
});
