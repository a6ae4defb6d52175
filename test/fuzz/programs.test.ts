/**
 * Whatever an entry declares: where another commit is checked out, no tool and no file of the checkout is started, and
 * at the commit itself no file of another checkout is the program.
 */
import assert from "node:assert/strict";
import { realpathSync, statSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { checkPrograms } from "../../src/action/programs.ts";
import { Stop } from "../../src/action/stop.ts";
import { loadEntry } from "../../src/app/entry-files.ts";
import { holds } from "../rig/fuzz.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

const words =
  "node npm ./tool tool scripts/x.mjs pr/x.mjs linked/x.mjs ../x.mjs ./pr/../scripts/x.mjs WORK/scripts/x.mjs " +
  "WORK/pr/x.mjs OUT/x.mjs OUT/link.mjs -e --import=./scripts/x.mjs --import=pr/x.mjs --import pr . / scripts x.mjs/ missing/x.mjs @a/b@1";
const part = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...words.split(" ")) },
  { weight: 1, arbitrary: fc.string({ minLength: 1 }) },
);
const situation = fc.record({
  command: fc.array(part, { minLength: 1, maxLength: 4 }),
  kind: fc.constantFrom("command", "module", "server"),
  allowed: fc.constantFrom("x", "x/*", "*", "y", "!x"),
  preset: fc.constantFrom("read-only", "workspace", "all"),
  tree: fc.constantFrom("at-commit", "elsewhere", "own"),
});

test("no program of an untrusted file is declared and started", async (t) => {
  const workspace = await makeRepository(t, { "scripts/x.mjs": "", tool: "", "x.mjs": "" });
  const outside = await makeWorkspace(t, { "x.mjs": "" });
  const { path: work } = workspace;
  const commit = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.git("worktree", "add", "--quiet", "-b", "fork", "pr");
  await workspace.git("-C", "pr", "commit", "--quiet", "--allow-empty", "--message=Theirs");
  await symlink("pr", join(work, "linked"));
  await symlink(join(work, "scripts/x.mjs"), join(outside.path, "link.mjs"));
  const environment = { PATH: process.env["PATH"], GITHUB_WORKSPACE: work };
  const property = fc.asyncProperty(situation, async (given) => {
    const { kind, allowed, preset, tree } = given;
    const command = given.command.map((one) =>
      one.replace(/^WORK/, work).replace(/^OUT/, outside.path),
    );
    const [first = "", ...args] = command;
    const parameters = { type: "object" };
    const isServer = kind === "server";
    const body = kind === "module" ? { module: first } : { command };
    const text = JSON.stringify({
      models: { driving: "m" },
      ...(isServer
        ? { mcpServers: { x: { command: first, args } } }
        : { tools: { x: { description: "d", parameters, ...body } } }),
      tasks: {
        a: {
          model: { category: "driving" },
          prompt: "Go",
          permissions: { preset, tools: [allowed] },
        },
      },
      jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
    });
    const loaded = loadEntry(text, "e.json");
    if (loaded.kind === "rejected") return;
    const job = {
      entry: loaded.entry,
      jobName: "job",
      permissions: undefined,
      loaded: { ...loaded, file: "e.json", flows: {} },
      namedDirectory: work,
    };
    const workTree = tree === "own" ? ({ kind: tree } as const) : ({ kind: tree, commit } as const);
    const ended = await checkPrograms({ workspace: work, environment }, workTree, job).then(
      () => "starts",
      (error: unknown) => {
        assert.ok(error instanceof Stop, String(error));
        return "refused";
      },
    );
    const named = kind === "module" ? [first] : command;
    const ofCheckout = (one: string): readonly [string, string] | undefined => {
      const path = resolve(work, one);
      if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
      const both = [path, realpathSync(path)] as const;
      return both.some((place) => place.startsWith(`${work}${sep}`)) ? both : undefined;
    };
    const files: (readonly [string, string])[] = [];
    // What is started: the first file, and those of options before it.
    let started: number | undefined;
    for (const [index, one] of named.entries()) {
      // A name that is searched in PATH is no file of the checkout.
      if (kind !== "module" && index === 0 && !one.includes("/")) continue;
      const file = ofCheckout(one);
      const value = index === 0 ? undefined : /^-[^=]*=(.+)$/.exec(one)?.[1];
      const ofOption = value === undefined ? undefined : ofCheckout(value);
      if (file !== undefined || ofOption !== undefined) files.push(file ?? ofOption ?? ["", ""]);
      if (file !== undefined && !/^-[^=]*$/.test(named[index - 1] ?? "")) started ??= files.length;
    }
    const isCallable =
      preset === "all"
        ? // The name of a server is no tool.
          isServer || allowed !== "!x"
        : allowed === "*" || allowed === (isServer ? "x/*" : "x");
    if (tree === "own" || !isCallable) return assert.equal(ended, "starts");
    if (tree === "elsewhere") {
      const isSearched = first !== "" && basename(first) === first;
      if (!isServer || files.length > 0) assert.equal(ended, "refused");
      else if (!isSearched) assert.equal(ended, "starts");
      return undefined;
    }
    const isOfAnother = ([name, real]: readonly [string, string]): boolean =>
      [name, real].some((one) => one.startsWith(join(work, "pr") + sep)) ||
      name.startsWith(join(work, "linked") + sep);
    const isRefused = files.slice(0, started).some(isOfAnother);
    return assert.equal(ended, isRefused ? "refused" : "starts");
  });
  await holds(t, property, 150);
});
