/**
 * Commands out of a grammar, judged by the patterns that people write. Whatever is allowed really runs, with
 * bash, in a folder with canaries around it and in it: no canary is printed, and no file changes.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { decidePermission } from "../../src/permissions/policy.ts";
import { programs } from "../../src/permissions/programs.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { holds } from "../rig/fuzz.ts";
import { makeScene, run, snapshot } from "./command-scene.ts";

const patterns = [
  ..."diff,log,show,grep,blame,status,ls-files,cat-file,rev-parse,shortlog,describe"
    .split(",")
    .map((name) => `git ${name} *`),
  ..."git fetch,git push,git pull,git,sed -n,xxd,od,less,cd".split(",").map((name) => `${name} *`),
  // These wait, or print without an end.
  ...[...programs.keys()]
    .filter((name) => !["curl", "sleep", "seq"].includes(name))
    .map((name) => `${name} *`),
  "cat docs/*",
  "node scripts/*.js",
  "node scripts/a.js *",
  "find . *",
];

/** What an agent may try, harmless or not. Not all of it fits each program. */
const options = (
  "-n -r -o -i -c -S -T -f -F -O -C -p -u -w -e -E -L -R -l -z -t -x -v -s -k -d -q -N -m -I -P -H -nr -no " +
  "-ro -tf -cf -xf -tvf -nf -ne -ni -Sx -ofound -5 -n5 -k2 -t, -U1 -L1,2 -A1 -- - --output --output=found " +
  "--outp=found --untracked --no-exclude-standard --no-index --cached --ext-diff --textconv --stat --name-only " +
  "--oneline --files0-from --files0-from=list0 --files-from=list --compress-program=./evil --in-place --null " +
  "--expression=wfound --file=list --to-file --from-file --open-files-in-pager=./evil --contents=.env " +
  "--ignore-revs-file=.env --index-file=found --checkpoint=1 --checkpoint-action=exec=./evil --git-dir=.git " +
  "--exec-path=. --no-pager --work-tree=.. --recursive --dereference-recursive --random-source=.env -C.. " +
  "-c -files0-from -name -type -newer -exec -execdir -delete -fprint -fls -printf -print0 -follow -maxdepth " +
  "-prune -not -or -samefile --batch --textconv --filters --exclude-from=.env -X --require -r --import --eval " +
  "--env-file=.env --follow --zero --count --unified --format=%G? --show-signature -G --all -p --patch --from-the-future -W --function-context"
).split(" ");

const places = (
  "docs/a.md docs/b.md docs src words ../outside/secret.txt OUTSIDE/secret.txt OUTSIDE .env .env.local sub/.env " +
  ".git/config .git link linkdir linkdir/secret.txt docs/../.env docs/../../outside/secret.txt ~/.ssh/id ~ " +
  "list list0 @list found ../outside/found HEAD HEAD~1 HEAD:docs/a.md HEAD:.env :/x a.tar host:a.tar scripts/a.js " +
  "scripts/../src/evil.js scripts/../docs/../src/evil.js src/evil.js ./* docs/* .e* ./.e* link* ./lin?/* [a-d]*.md " +
  "1 2 5 x=.env x=../outside/secret.txt a=.env,b tf xf cf tvf tzf cTf . .. / ./ canary CANARY print p 1p $p wfound " +
  "docs/a.md..HEAD blob tree NOTHING https://x x=~/notes.txt x=~/../outside/secret.txt notes.txt origin evil.git " +
  "./evil.git evil bare 10 5* e* .e* x=/link"
).split(" ");

const scripts = [
  "1,2p",
  "/x/p",
  "s/a/b/g",
  "s/a/./e/x",
  "1e ./evil",
  "w found",
  "r .env",
  "R link",
  "s/a/b/w found",
  "s/^/.\\/evil/e",
  "1{p;r .env\n}",
  "{print $1}",
  "{print $1, $NF}",
  "NR==1{print}",
  '{system("./evil")}',
  '{print > "found"}',
  '{while((getline l < ".env")>0) print l}',
  'BEGIN{ARGV[1]="link"}{print}',
  "*.md",
  "%p\\n",
  "$(cat .env)",
  "`cat .env`",
];

/** Raw: what a shell replaces, joins or sets before it runs a command. */
const pieces = [
  "{PATH}>/dev/null",
  "{HOME}>/dev/null",
  "2>&1",
  '"$\\\n(./evil)"',
  '"$\\\n(cat link)"',
  "$\\\nHOME/notes.txt",
  ".{a.\\\n.f}nv",
  ".e\\\nnv",
  "\\\n",
  "#",
  "$'.env'",
  "{link,.env}",
  "~/notes.txt",
];

interface Shape {
  readonly start: string;
  readonly options?: readonly string[];
  readonly first?: readonly string[];
}

const words = (text: string): string[] => text.split(" ");
const shapes: readonly Shape[] = [
  { start: "sed -n", options: ["-e", "-E", "-s"], first: scripts },
  { start: "awk", options: ["-F,", "-f"], first: scripts },
  {
    start: "git grep",
    options: words("-n -i --untracked --no-exclude-standard --no-index -f.env -f -Osh --cached -e"),
    first: ["canary", "x", "-Osh"],
  },
  { start: "git blame", options: words("-S -S.env --contents=.env -L1 --ignore-revs-file=.env") },
  { start: "git diff", options: words("--no-index -O.env --output=found --cached -R") },
  {
    start: "git log",
    options: words("-p --output=found --output -n1 -S x -O.env --all --ext-diff"),
  },
  { start: "git", options: words("-C .. -ccore.pager=./evil --git-dir=.git -p log grep diff") },
  {
    start: "grep",
    options: words("-r -R -n -f -f.env -e --file=link -dr"),
    first: ["canary", "x"],
  },
  { start: "find", options: words("-L -files0-from list0 -exec ./evil ; -fprint found -name") },
  {
    start: "sort",
    options: words("--files0-from=list0 -ofound -o -T.. -k2 --compress-program=./evil"),
  },
  { start: "wc", options: words("--files0-from=list0 --files0-from -l -c") },
  { start: "du", options: words("--files0-from=list0 -X.env -L -a") },
  {
    start: "tar",
    first: words("tf tvf cf xf tTf cTf tzf"),
    options: words("-t -f -T list -xf -cf --"),
  },
  { start: "git push", first: words("evil.git ./evil.git evil origin"), options: ["-q", "--"] },
  {
    start: "git diff",
    options: words("-U --unified -S -G --word-diff-regex --"),
    first: ["OUTSIDE"],
  },
  { start: "git log", options: words("--format=%G? --pretty=%h%GG --show-signature -1") },
  { start: "cd", options: ["--", "-P", "-"], first: words("docs bare 10 sub . src") },
  { start: "cd bare &&", options: words("git ls cat"), first: words("status log HEAD config") },
  { start: "cd && cat", options: [], first: ["notes.txt"] },
  { start: "head", options: words("-n -c -q"), first: words("5* 5 e*") },
  { start: "grep", options: words("-e -m -A"), first: words("e* .e* 5*") },
  { start: "uniq", options: words("-c -u -f1"), first: ["words", "-"] },
  {
    start: "cat docs/",
    options: [],
    first: words("../.env ../../outside/secret.txt a.md .. * .env"),
  },
  {
    start: "node scripts/",
    options: [],
    first: words("../src/evil.js a.js ../scripts/../src/evil.js"),
  },
];

const quotes: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text,
  (text) => `'${text.replaceAll("'", "'\\''")}'`,
  (text) => `"${text}"`,
  (text) => text.replace(/[^\w./-]/g, "\\$&"),
  (text) => `${text.slice(0, 1)}''${text.slice(1)}`,
];

function lines(outside: string): fc.Arbitrary<string> {
  const word = fc
    .oneof(
      { weight: 3, arbitrary: fc.constantFrom(...options) },
      { weight: 4, arbitrary: fc.constantFrom(...places) },
      { weight: 1, arbitrary: fc.constantFrom(...scripts) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom(...options), fc.constantFrom(...places))
          .map((two) => two.join("")),
      },
    )
    .map((text) => text.replace("OUTSIDE", outside));
  const quoted = fc.tuple(word, fc.constantFrom(...quotes)).map(([text, quote]) => quote(text));
  const raw = fc.oneof(
    { weight: 6, arbitrary: quoted },
    { weight: 1, arbitrary: fc.constantFrom(...pieces) },
  );
  const some = (words: readonly string[], maxLength: number): fc.Arbitrary<string[]> =>
    fc
      .array(fc.tuple(fc.constantFrom("--", ...words), fc.constantFrom(...quotes)), { maxLength })
      .map((list) => list.map(([text, quote]) => quote(text.replace("OUTSIDE", outside))));
  const anything = fc
    .tuple(fc.constantFrom(...patterns), fc.array(raw, { maxLength: 4 }))
    .map(([pattern, rest]) => [pattern.replace(/ \*$/, "").replace("*", "a"), ...rest].join(" "));
  // What stands where it means something to the program.
  const shaped = fc
    .constantFrom(...shapes)
    .chain(({ start, ...slots }) =>
      fc
        .tuple(some(slots.options ?? options, 2), some(slots.first ?? places, 1), some(places, 2))
        .map((parts) => [start, ...parts.flat()].join(" ").replace("/ ", "/")),
    );
  const command = fc.oneof(anything, shaped);
  const separator = fc.constantFrom(
    " | ",
    " && ",
    "; ",
    " || ",
    "\n",
    " & ",
    " 2>&1 | ",
    " > found; ",
    " {PATH}>/dev/null; ",
    " {HOME}>/dev/null; ",
  );
  return fc
    .tuple(command, fc.option(fc.tuple(separator, command), { freq: 5 }))
    .map(([first, second]) => (second === null ? first : first + second.join("")));
}

test("whatever the patterns of people allow prints no canary and changes no file", async (t) => {
  const scene = await makeScene(t);
  let before = snapshot(scene.root);
  const context = { workingDirectory: scene.path, home: join(scene.root, "home"), ...realFiles };
  const seen = new Set<string>();
  const bad = new Map<string, unknown>();
  let ran = 0;
  const property = fc.asyncProperty(
    fc.array(lines(join(scene.root, "outside")), { minLength: 20, maxLength: 20 }),
    async (some) => {
      for (const line of some) {
        const request = { kind: "shell", command: line } as const;
        if (bad.has(line)) throw bad.get(line);
        if (seen.has(line)) continue;
        seen.add(line);
        if (decidePermission({ shell: patterns }, request, context).kind !== "allowed") continue;
        ran += 1;
        const printed = await run("/bin/bash", ["-c", line], scene);
        const after = snapshot(scene.root);
        const changed = after !== before;
        before = after;
        const printsCanary = /canary-[A-Z]/.test(printed);
        if (!changed && !printsCanary) continue;
        bad.set(line, new Error(`${changed ? "changes a file" : "prints a canary"}: ${line}`));
        throw bad.get(line);
      }
    },
  );
  await holds(t, property, 60);
  t.diagnostic(`${ran} of ${seen.size} commands were allowed and ran`);
  assert.ok(
    ran * 20 > seen.size,
    `${ran} of ${seen.size}: the grammar makes too little that is allowed`,
  );
});
