/** Searches on the real runtime, in all forms that it has for their results. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { nightly } from "../rig/nightly.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { completed, denials, makeRig, turn } from "./rig.ts";

const settings = "SECRET=KEY-of-settings\n";
const lines = (count: number, line: string): string => `${line}\n`.repeat(count);

/** The model families know the search by two names. */
const families = { "claude-test": "grep", "gpt-5-codex": "rg" } as const;

/** What direnv reads, and what editors leave. */
const backups = [
  ".envrc",
  ".env~",
  ".env.local~",
  "#.env#",
  ".#.env",
  "..env.un~",
  ".netrc.bak",
  ".npmrc.swp",
  ".git-credentials.orig",
  "_netrc~",
  ".env copy",
];

type Fields = Readonly<Record<string, unknown>>;

function searchCall(modelId: keyof typeof families, fields: Fields): ScriptedCall {
  return {
    name: families[modelId],
    arguments: { pattern: "KEY", output_mode: "content", ...fields },
  };
}

async function search(
  t: Parameters<typeof makeRig>[0],
  permissions: Permissions,
  modelId: keyof typeof families,
  given: readonly (Fields | ((results: readonly string[]) => Fields))[],
  files: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const workspace = await makeRepository(t, {
    ".env": lines(80, settings),
    ".npmrc": settings,
    ".ssh/id": settings,
    "gha-creds-1.json": settings,
    "sub/.env.local": settings,
    // The runtime takes these for the file “steps/x”.
    "steps/x-1-y/.env": settings,
    ".env.example": "KEY=\n",
    ...Object.fromEntries(backups.map((name) => [`backups/${name}`, settings])),
    "few/a.ts": "KEY\n",
    "few/.env": settings,
    "many/a.ts": lines(120, "KEY"),
    "many/b.ts": "KEY\n",
    "many/.env": lines(80, settings),
    "settings/a.ts": "KEY\n",
    ...Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`settings/.env.${n}`, settings])),
    ...files,
  });
  const rig = await makeRig(
    t,
    ({ toolResults }) => {
      const next = given[toolResults.length];
      if (next === undefined) return { text: "The end." };
      return {
        toolCalls: [searchCall(modelId, typeof next === "function" ? next(toolResults) : next)],
      };
    },
    { workspace },
  );
  const session = await rig.open({ permissions, modelId });
  const run = await turn(session, "search");
  await session.close();
  assert.deepEqual(denials(run), []);
  assert.ok(completed(run).toolCalls.every(({ succeeded }) => succeeded));
  return rig.server.requests.findLast(({ prompt }) => prompt === "search")?.toolResults ?? [];
}

const forms = [
  {},
  { "-n": true },
  { "-C": 1 },
  { "-n": true, "-A": 1, "-B": 1 },
  { head_limit: 100 },
  { multiline: true },
  { output_mode: "count" },
  { output_mode: "files_with_matches" },
  { output_mode: "files_with_matches", head_limit: 1, glob: "**/.env*" },
];
const places = [".", "few", "many", "settings", "steps", "backups"];

for (const modelId of nightly
  ? (["claude-test", "gpt-5-codex"] as const)
  : (["claude-test"] as const)) {
  test(`no form of a result says anything of a file of credentials, for ${modelId}`, async (t) => {
    const calls = places.flatMap((paths) => forms.map((form) => ({ paths, ...form })));
    const results = await search(t, "read-only", modelId, [
      ...calls,
      ...[".env", "**/.env", "*.json", ".ssh/**"].map((glob) => ({ glob })),
      { exclude_globs: [".env", "**/.env"] },
      { exclude_globs: ["!**/.env"] },
    ]);
    assert.equal(results.length, calls.length + 6);
    const said = results.join("\n");
    assert.doesNotMatch(
      said,
      /SECRET|of-settings|\.env(?!\.example)|npmrc|netrc|\.ssh|gha-creds|git-cred/i,
    );
    assert.doesNotMatch(said, /couldn't be checked/);
    assert.match(said, /\[grep content: 121 matches across 2 file\(s\)/);
    // The only one of them that is left.
    assert.equal(results[forms.length - 1], "./.env.example");
  });
}

test("a file of credentials that appears during a session is in none of its searches", async (t) => {
  let path = "";
  const workspace = await makeWorkspace(t);
  await workspace.write("a.ts", "KEY\n");
  const rig = await makeRig(
    t,
    ({ toolResults }) => {
      if (toolResults.length === 2) return { text: "The end." };
      if (toolResults.length === 1) {
        mkdirSync(join(path, "late"));
        for (const name of [".env", ".NPMRC", "late/.env.local"])
          writeFileSync(join(path, name), settings);
      }
      return { toolCalls: [searchCall("claude-test", {})] };
    },
    { workspace },
  );
  ({ path } = workspace);
  const session = await rig.open();
  completed(await turn(session, "search"));
  const { toolResults = [] } = rig.server.requests.at(-1) ?? {};
  assert.deepEqual(toolResults, ["./a.ts:KEY", "./a.ts:KEY"]);
});

test("sessions of one run that may read different files search differently", async (t) => {
  const workspace = await makeWorkspace(t);
  await workspace.write(".env", settings);
  await workspace.write("a.ts", "KEY\n");
  const rig = await makeRig(
    t,
    ({ toolResults: { length } }) =>
      length === 0 ? { toolCalls: [searchCall("claude-test", {})] } : { text: "The end." },
    { workspace },
  );
  const seen = async (permissions: Permissions): Promise<string | undefined> => {
    const session = await rig.open({ permissions });
    completed(await turn(session, "search"));
    await session.close();
    return rig.server.requests.at(-1)?.toolResults[0]?.split("\n").sort().join(" ");
  };
  const everything = `./.env:${settings.trim()} ./a.ts:KEY`;
  assert.equal(await seen("read-only"), "./a.ts:KEY");
  assert.equal(await seen("all"), everything);
  assert.equal(await seen("workspace"), "./a.ts:KEY");
  assert.equal(rig.sessions.runtimePids.length, 3);
  assert.deepEqual(rig.restarts, []);
});

test("searches show no file of credentials that a pattern names, with and without a program `true`", async (t) => {
  const workspace = await makeWorkspace(t);
  await workspace.write(".env", settings);
  await workspace.write("a.ts", "KEY\n");
  // In a sandbox, the runtime starts searches by a shell.
  const { path: programs } = await makeWorkspace(t);
  symlinkSync("/bin/sh", join(programs, "sh"));
  for (const environment of [process.env, { ...process.env, PATH: programs }]) {
    const rig = await makeRig(
      t,
      ({ toolResults: { length } }) =>
        length === 0
          ? { toolCalls: [{}, { glob: "**/*" }].map((of) => searchCall("claude-test", of)) }
          : { text: "The end." },
      { workspace, environment },
    );
    completed(await turn(await rig.open({ permissions: { read: [".env"] } }), "search"));
    const said = rig.server.requests.at(-1)?.toolResults.join("\n") ?? "";
    assert.match(said, /a\.ts:KEY/);
    assert.doesNotMatch(said, /SECRET/);
  }
});

test("a result that is too large for the model is a file without them", async (t) => {
  const saved = (results: readonly string[]): string =>
    /Saved to: (\S+)/.exec(results[0] ?? "")?.[1] ?? "";
  const calls = [
    { paths: "long" },
    (given: readonly string[]) => ({ paths: saved(given), output_mode: "count" }),
    (given: readonly string[]) => ({ paths: saved(given), pattern: "SECRET" }),
  ];
  const { path: temporary } = await makeWorkspace(t);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
  t.after(() =>
    before === undefined ? delete process.env["TMPDIR"] : (process.env["TMPDIR"] = before),
  );
  const results = await search(
    t,
    { read: [`${temporary}/**`], sandbox: "off" },
    "claude-test",
    calls,
    {
      "long/a.ts": `KEY ${"x".repeat(90_000)}\n`,
      "long/.env": `${settings.trim()} ${"x".repeat(90_000)}\n`,
    },
  );
  assert.match(results[1] ?? "", /:1$/);
  assert.equal(results[2], "No matches found.");
});
