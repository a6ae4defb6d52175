/**
 * Check, then use: the runtime runs all calls of an answer at once, so a command that is allowed could swap a
 * link in after a path was judged. Real runtime, real git, a model that tries.
 */
import assert from "node:assert/strict";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import type { Workspace } from "../rig/workspace.ts";
import { bash } from "./attempts.ts";
import { completed, denials, makeRig, turn } from "./rig.ts";
import type { Run } from "./rig.ts";

interface Attack {
  readonly run: Run;
  readonly results: readonly string[];
  readonly repository: Workspace;
  readonly outside: string;
}

const secret = "OUTSIDE-SECRET";
const rounds = 8;
const folders = 30;

/** Branch `main` has folders, branch `x` has links to the outside in their place. */
async function makeAttack(
  t: TestContext,
): Promise<{ readonly repository: Workspace; readonly outside: string }> {
  const outside = await makeWorkspace(t, { "f.txt": `${secret}\n`, "g.txt": `${secret}\n` });
  const names = ["d", ...many(folders, (n) => `d${n}`)];
  const repository = await makeRepository(
    t,
    Object.fromEntries(
      names.flatMap((name) => ["f", "g"].map((file) => [`src/${name}/${file}.txt`, "inside\n"])),
    ),
  );
  await repository.git("checkout", "--quiet", "-b", "x");
  for (const name of names) {
    await rm(join(repository.path, "src", name), { recursive: true });
    await symlink(outside.path, join(repository.path, "src", name));
  }
  await repository.git("add", "--all");
  await repository.git("commit", "--quiet", "--message=A link");
  await repository.git("checkout", "--quiet", "main");
  return { repository, outside: outside.path };
}

async function attack(
  t: TestContext,
  permissions: Permissions,
  answers: (repository: string) => readonly (readonly ScriptedCall[])[],
  prepare: (repository: Workspace) => Promise<unknown> = () => Promise.resolve(),
): Promise<Attack> {
  const { repository, outside } = await makeAttack(t);
  await prepare(repository);
  const script = answers(repository.path);
  let answered = 0;
  const rig = await makeRig(
    t,
    () => {
      const toolCalls = script[answered];
      answered += 1;
      return toolCalls === undefined ? { text: "The end." } : { toolCalls };
    },
    { workspace: repository },
  );
  const session = await rig.open({ permissions });
  const run = await turn(session, "attack");
  await session.close();
  assert.equal(completed(run).text, "The end.");
  const results = rig.server.requests.at(-1)?.toolResults ?? [];
  return { run, results, repository, outside };
}

function many<T>(count: number, one: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => one(n));
}

test("a checkout beside many creates writes nothing where a link leads outside", async (t) => {
  for (let round = 0; round < 2; round += 1) {
    const { outside, run } = await attack(
      t,
      { write: ["src/**"], shell: ["git checkout *"] },
      (path) => [
        [
          bash("git checkout --quiet x"),
          ...many(folders * 10, (n) => ({
            name: "create",
            arguments: { path: join(path, `src/d${n % folders}/${n}.txt`), file_text: "x" },
          })),
        ],
      ],
    );
    assert.deepEqual((await readdir(outside)).sort(), ["f.txt", "g.txt"]);
    assert.deepEqual([...new Set(denials(run).map(({ operation }) => operation))], ["write"]);
  }
});

test("a checkout beside forty views shows nothing that a link leads to", async (t) => {
  const { results, run } = await attack(t, { shell: ["git checkout *"] }, (path) =>
    many(rounds, () => [
      ...many(20, () => ({ name: "view", arguments: { path: join(path, "src/d/f.txt") } })),
      bash("git checkout --quiet x"),
      ...many(20, () => ({ name: "view", arguments: { path: join(path, "src/d/g.txt") } })),
    ]).flatMap((calls) => [calls, [bash("git checkout --quiet main")]]),
  );
  assert.ok(results.length >= rounds * 42);
  assert.doesNotMatch(results.join("\n"), new RegExp(secret));
  // The commands ran, and the views after them saw a link to the outside.
  assert.ok(denials(run).some(({ operation }) => operation === "read"));
  assert.ok(!denials(run).some(({ operation }) => operation === "shell"));
});

test("a checkout beside many commands that read shows nothing that a link leads to", async (t) => {
  const permissions = { shell: ["git checkout *", "cat *"] };
  const { results } = await attack(t, permissions, () => [
    [
      bash("git checkout --quiet x"),
      ...many(folders, (n) => bash(`cat src/d${n}/f.txt`)),
      bash("git checkout --quiet main"),
    ],
  ]);
  assert.equal(results.length, folders + 2);
  assert.doesNotMatch(results.join("\n"), new RegExp(secret));
});

test("an edit that was prepared through a link does not write what it read there", async (t) => {
  const { repository, results } = await attack(
    t,
    { write: ["src/**"], shell: ["git checkout *"] },
    (path) =>
      many(rounds, () => [
        bash("git checkout --quiet main"),
        ...many(10, () => ({
          name: "edit",
          arguments: { path: join(path, "src/d/f.txt"), old_str: "OUTSIDE", new_str: "STOLEN" },
        })),
      ]).flatMap((calls) => [[bash("git checkout --quiet x")], calls]),
  );
  assert.doesNotMatch(await readFile(join(repository.path, "src/d/f.txt"), "utf8"), /SECRET/);
  assert.doesNotMatch(results.join("\n"), new RegExp(`updated with changes`));
});

test("what runs on after its call has ended still keeps file tools away", async (t) => {
  const { outside, run } = await attack(
    t,
    { write: ["src/**"], shell: ["sh swap.sh"] },
    (path) => [
      [
        {
          ...bash("sh swap.sh"),
          arguments: { command: "sh swap.sh", description: "d", mode: "async" },
        },
      ],
      [
        {
          ...bash("sh swap.sh"),
          arguments: { command: "sh swap.sh", description: "d", mode: "async", detach: true },
        },
      ],
      [bash("sh swap.sh &")],
      ...many(20, (n) => [
        { name: "create", arguments: { path: join(path, `src/d/${n}.txt`), file_text: "x" } },
      ]),
    ],
    (repository) =>
      writeFile(
        join(repository.path, "swap.sh"),
        "for i in $(seq 200); do git checkout -q x; git checkout -q main; done\n",
      ),
  );
  assert.deepEqual((await readdir(outside)).sort(), ["f.txt", "g.txt"]);
  assert.deepEqual(
    denials(run).map(({ operation, reason }) => [operation, reason.includes("background")]),
    [
      ["shell", true],
      ["shell", true],
      ["shell", true],
    ],
  );
});

test("files and commands of one answer that do not hurt each other are all served", async (t) => {
  const { run, results } = await attack(t, { shell: ["git log *", "git status *"] }, (path) => [
    [
      { name: "view", arguments: { path: join(path, "src/d/f.txt") } },
      bash("git log --oneline"),
      bash("git log --oneline"),
      { name: "grep", arguments: { pattern: "inside" } },
      bash("git status --short"),
      { name: "glob", arguments: { pattern: "**/*.txt" } },
    ],
  ]);
  assert.deepEqual(denials(run), []);
  assert.equal(results.length, 6);
  assert.ok(completed(run).toolCalls.every(({ succeeded }) => succeeded));
  assert.ok(run.milliseconds < 20_000);
});

test("sessions that share a folder are kept apart as well", async (t) => {
  const { repository, outside } = await makeAttack(t);
  const answers = 10;
  const asked = { command: 0, view: 0 };
  const rig = await makeRig(
    t,
    ({ prompt }) => {
      const kind = prompt === "swap" ? "command" : "view";
      asked[kind] += 1;
      if (asked[kind] > answers) return { text: "The end." };
      if (kind === "command")
        return {
          toolCalls: [bash(`git checkout --quiet ${asked[kind] % 2 === 1 ? "x" : "main"}`)],
        };
      return {
        toolCalls: many(folders * 2, (n) => ({
          name: "view",
          arguments: { path: join(repository.path, `src/d${n % folders}/f.txt`) },
        })),
      };
    },
    { workspace: repository },
  );
  const swapping = await rig.open({ permissions: { shell: ["git checkout *"] } });
  const viewing = await rig.open({ permissions: "read-only" });
  const [swap, view] = await Promise.all([turn(swapping, "swap"), turn(viewing, "view")]);
  await Promise.all([swapping.close(), viewing.close()]);
  assert.deepEqual(denials(swap), [], "commands wait for the views of others, they are not denied");
  assert.equal(completed(view).text, "The end.");
  const shown = rig.server.requests.flatMap(({ toolResults }) => toolResults).join("\n");
  assert.doesNotMatch(shown, new RegExp(secret));
  assert.match(shown, /inside/);
  assert.ok(
    denials(view).every(({ reason }) => reason.includes(outside)),
    JSON.stringify(denials(view)),
  );
});

test("a search by git beside a checkout shows nothing that a link leads to", async (t) => {
  const { results, run } = await attack(
    t,
    { shell: ["git checkout *", "git reset *", "git grep *", "git blame *"] },
    () =>
      many(rounds, (n) => {
        const calls = [
          bash("git grep -h OUTSIDE -- src"),
          bash("git checkout --quiet x -- src; git reset --quiet"),
          bash("git blame src/d/f.txt"),
          bash("git grep -h -e OUTSIDE"),
        ];
        return [...calls.slice(n % 4), ...calls.slice(0, n % 4)];
      }).flatMap((calls) => [calls, [bash("git checkout --quiet -f main")]]),
  );
  assert.doesNotMatch(results.join("\n"), new RegExp(secret));
  assert.ok(denials(run).some(({ target }) => target.startsWith("git grep")));
  assert.ok(denials(run).some(({ target }) => target.startsWith("git blame")));
});
