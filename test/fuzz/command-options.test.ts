/**
 * Every option that a known program has, by its own help and by our tables: short ones alone, glued and in bundles,
 * long ones with `=`, with the next word, and abbreviated. What is allowed really runs (`command-scene.ts`).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { gitCommand } from "../../src/permissions/git-commands.ts";
import { decidePermission } from "../../src/permissions/policy.ts";
import { programs } from "../../src/permissions/programs.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { fuzzingLong, holds } from "../rig/fuzz.ts";
import { makeScene, run, snapshot, type Scene } from "./command-scene.ts";

/** A program, or a subcommand of git, and the names of its options. */
interface Known {
  readonly start: string;
  readonly long: readonly string[];
  /** What has to be there first: a pattern, a script, the name of an archive. */
  readonly first: readonly string[];
}

/** They wait, print without an end, or need a network. */
const left = new Set(["curl", "sleep", "seq"]);
/** They change the repository, as they are meant to. */
const changing = new Set(
  "add am branch checkout cherry-pick commit fetch merge mv pull push rebase reset restore revert rm stash switch tag".split(
    " ",
  ),
);

/** What comes before the files. */
const firstOf = new Map<string, readonly string[]>([
  ["pattern", ["x"]],
  ["sed", ["p"]],
  ["awk", ["{print}"]],
]);

async function knownPrograms(scene: Scene): Promise<readonly Known[]> {
  const known: Known[] = [];
  for (const [name, { operands, long = "", words: hasWords }] of programs) {
    if (left.has(name)) continue;
    const help = await run("/usr/bin/env", [name, "--help"], scene);
    const first = firstOf.get(operands) ?? [];
    const own = hasWords === true ? [...help.matchAll(/(?<=[\s[])-[a-z0-9]{2,}/g)] : [];
    const names = own.map(([text]) => text.slice(1));
    known.push({ start: name, first, long: [...names, ...namesIn(help), ...namesOf(long)] });
  }
  const subcommands = await run("git", ["--list-cmds=builtins"], scene);
  for (const name of subcommands.split("\n").filter((one) => one !== "" && !changing.has(one))) {
    const options = gitCommand(["git", name])?.options;
    if (options === undefined) continue;
    const all = await run("git", [name, "--git-completion-helper-all"], scene);
    const help = await run("git", [name, "-h"], scene);
    const first = name === "grep" ? ["x"] : [];
    known.push({
      start: `git ${name}`,
      first,
      long: [...namesIn(all), ...namesIn(help), ...namesOf(options.long ?? "")],
    });
  }
  return known;
}

function namesIn(help: string): string[] {
  return [...help.matchAll(/--(?:\[no-\])?([a-z\d][a-z\d-]+)/g)].map(([, name = ""]) => name);
}

function namesOf(spec: string): string[] {
  return spec.split(/\s+/).map((name) => name.replace(/=$/, ""));
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".split("");

/** What must not be read, run or written because of an option. */
const values = [
  "OUTSIDE",
  ".env",
  "link",
  "list",
  "list0",
  "./evil",
  "found",
  "evil.git",
  "1",
  "x",
];

function lines(known: readonly Known[], outside: string): fc.Arbitrary<string> {
  return fc.constantFrom(...known).chain(({ start, first, long }) => {
    const dashes = programs.get(start)?.words === true ? "-" : "--";
    const letter = fc.constantFrom(...letters).map((one) => `-${one}`);
    const bundle = fc.tuple(letter, fc.constantFrom(...letters)).map((two) => two.join(""));
    const name = fc
      .tuple(fc.constantFrom(...long, "help"), fc.option(fc.nat({ max: 8 }), { freq: 4 }))
      .map(
        ([text, cut]) =>
          dashes + (cut === null ? text : text.slice(0, Math.max(2, text.length - cut))),
      );
    const option = fc.oneof(
      { weight: 2, arbitrary: letter },
      { weight: 1, arbitrary: bundle },
      { weight: 3, arbitrary: name },
    );
    const given = fc
      .tuple(option, fc.constantFrom("", " ", "="), fc.constantFrom(...values))
      .map((parts) => parts.join("").replace("OUTSIDE", outside));
    const place = fc.constantFrom("docs/a.md", "words", "a.tar", "docs", "HEAD", ".");
    return fc
      .tuple(fc.array(given, { minLength: 1, maxLength: 2 }), place, fc.constantFrom(0, 1, 2, 3))
      .map(([options, file, order]) => {
        const rest = [...first, file];
        const all =
          order === 0
            ? [...rest, ...options]
            : order === 1
              ? [...options, ...rest]
              : order === 2
                ? [...options, "--", ...rest]
                : [...first, ...options, file];
        return [start, ...all].join(" ");
      });
  });
}

/** Runs what is allowed, and finds the first that does harm. */
class Trial {
  ran = 0;
  readonly #seen = new Map<string, Error | undefined>();
  readonly #scene: Scene;
  #before: string;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#before = snapshot(scene.root);
  }

  get tried(): number {
    return this.#seen.size;
  }

  async take(line: string): Promise<void> {
    const known = this.#seen.get(line);
    if (known !== undefined) throw known;
    if (this.#seen.has(line)) return;
    this.#seen.set(line, undefined);
    const { path, root } = this.#scene;
    const context = { workingDirectory: path, home: join(root, "home"), ...realFiles };
    const request = { kind: "shell", command: line } as const;
    if (decidePermission({ shell }, request, context).kind !== "allowed") return;
    this.ran += 1;
    const printed = await run("/bin/bash", ["-c", line], this.#scene);
    const after = snapshot(root);
    const changed = after !== this.#before;
    this.#before = after;
    if (!changed && !/canary-[A-Z]/.test(printed)) return;
    const error = new Error(`${changed ? "changes a file" : "prints a canary"}: ${line}`);
    this.#seen.set(line, error);
    throw error;
  }
}

const shell = ["git *", ...[...programs.keys()].map((name) => `${name} *`)];

test("an option that takes a value takes it in every program that is known", async (t) => {
  const scene = await makeScene(t);
  const trial = new Trial(scene);
  const secret = join(scene.root, "outside/secret.txt");
  for (const { start, first, long } of await knownPrograms(scene)) {
    // The others show their arguments, or look only into the repository.
    const opensFiles = start === "git diff" || !start.startsWith("git ");
    if (programs.get(start)?.operands === "text" || (!opensFiles && !fuzzingLong)) continue;
    const dashes = programs.get(start)?.words === true ? "-" : "--";
    const names = [...letters.map((one) => `-${one}`), ...long.map((one) => dashes + one)];
    const share = fuzzingLong ? 1 : 8;
    const from = Math.floor(Math.random() * share);
    for (const [index, option] of [...new Set(names)].entries()) {
      if (index % share !== from) continue;
      const line = [start, option, secret, ...first, "docs/a.md"].join(" ");
      await trial.take(line);
      if (fuzzingLong) await trial.take(line.replace(secret, "link"));
    }
  }
  t.diagnostic(`${trial.ran} of ${trial.tried} commands were allowed and ran`);
  assert.ok(trial.ran > 10);
});

test("no option of a known program reads, writes or runs anything but its arguments", async (t) => {
  const scene = await makeScene(t);
  const known = await knownPrograms(scene);
  assert.ok(known.length > 60, `${known.length} programs`);
  const trial = new Trial(scene);
  const outside = join(scene.root, "outside/secret.txt");
  const property = fc.asyncProperty(
    fc.array(lines(known, outside), { minLength: 20, maxLength: 20 }),
    async (some) => {
      for (const line of some) await trial.take(line);
    },
  );
  await holds(t, property, 60);
  t.diagnostic(`${trial.ran} of ${trial.tried} commands were allowed and ran`);
  assert.ok(fuzzingLong || trial.ran * 40 > trial.tried, `${trial.ran} of ${trial.tried}`);
});
