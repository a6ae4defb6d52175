import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { waitUntilGone } from "../../../src/platform/processes.ts";
import { scriptsRig } from "./scripts-rig.ts";

/** Runs scripts one after the other in one shell, and returns their output and exit codes. */
async function session(
  t: TestContext,
  ...scripts: readonly string[]
): Promise<readonly (readonly [string, number])[]> {
  const { run } = await scriptsRig(t);
  const seen: (readonly [string, number])[] = [];
  for (const script of scripts) {
    const { output, exitCode } = await run(script);
    seen.push([output, exitCode]);
  }
  return seen;
}

/** Scripts one after the other in one shell, what they print, and their exit codes other than 0. */
const sessions: Readonly<Record<string, readonly (readonly [string, string, number?])[]>> = {
  "a script may have several lines, here-documents, quotes, and no line break at its end": [
    [
      "cat <<'END'\n$HOME 'a' \"b\" `c` \\\\\nEND\nfor i in 1 2; do\n  echo \"$i\" \\\n    'on'\ndone\nprintf last",
      "$HOME 'a' \"b\" `c` \\\\\n1 on\n2 on\nlast",
    ],
    ['echo "$(printf \'é\\n%s\' "it\'s")" # a comment', "é\nit's\n"],
    ["echo a \\", "a\n"],
  ],
  "an exit ends the script, and a new shell takes over directory, exported variables and functions":
    [
      [
        'f() { echo function; }; g() { :; }; export -f g; export A="it\'s" EMPTY=; unset LANG; cd /usr; exit 3',
        "",
        3,
      ],
      [
        'pwd; echo "$A${EMPTY-none}${LANG-unset}"; f; bash -c "g && echo exported"',
        "/usr\nit'sunset\nfunction\nexported\n",
      ],
    ],
  "an EXIT trap runs when its script ends, with its output and its exit code": [
    ["trap 'echo bye' EXIT; export A=1; cd /usr; echo hello", "hello\nbye\n"],
    ["trap 'echo again; exit 9' EXIT; (exit 4)", "again\n", 9],
    ["trap 'echo third' EXIT; exit 6", "third\n", 6],
    ['echo "$A"; pwd', "1\n/usr\n"],
  ],
  "messages name the line of the script, and no temporary file": [
    ["echo one", "one\n"],
    [":\n\nno-such-program", "/dev/fd/63: line 3: no-such-program: command not found\n", 127],
  ],
  "a script that redefines what the shell needs to answer gets an answer all the same": [
    ['printf() { echo mine; }; cd() { builtin cd "$@"; echo moved; }; cd /usr; IFS=,', "moved\n"],
    ["printf x; exit 1", "mine\n", 1],
    ['pwd; echo "$IFS"', "/usr\n \t\n\n"],
  ],
  "commands read an empty standard input, and have no terminal": [
    ["cat; read line; echo $?; tty; wc -c </dev/stdin; exec </etc/passwd", "1\nnot a tty\n0\n"],
    ["cat", ""],
  ],
  "/dev/stdout and /dev/stderr can be opened, and stderr is where it was written": [
    [
      "echo 1; echo 2 >&2; echo 3 > /dev/stderr; echo 4 > /dev/stdout; sh -c 'echo 5 >&2'; echo 6",
      "1\n2\n3\n4\n5\n6\n",
    ],
  ],
};
for (const [name, scripts] of Object.entries(sessions)) {
  test(name, async (t) => {
    const seen = await session(t, ...scripts.map(([script]) => script));
    assert.deepEqual(
      seen,
      scripts.map(([, output, exitCode = 0]) => [output, exitCode]),
    );
  });
}

test("directory, variables, functions and descriptors last from one script to the next", async (t) => {
  const seen = await session(
    t,
    "mkdir sub; cd sub; export A='x y\nz'; B=2; f() { echo \"f $1\"; }; exec 7>log; umask 027",
    'pwd | sed "s|.*/||"; echo "$A"; echo "$B"; f 1; echo kept >&7; cat log; umask',
  );
  assert.deepEqual(seen[1], ["sub\nx y\nz\n2\nf 1\nkept\n0027\n", 0]);
});

test("the options and traps of a script are its own", async (t) => {
  const seen = await session(
    t,
    "set -e; false; echo no",
    "set -euxf -o pipefail; echo x",
    "set -v",
    "trap 'echo debug' DEBUG; trap 'echo error' ERR; false",
    "trap '' TERM",
    'echo "$-" *; echo $none; false | true; false; trap -p TERM; echo done',
  );
  assert.equal(seen[0]?.[1], 1);
  assert.deepEqual(seen[1], ["++ echo x\nx\n", 0]);
  assert.deepEqual(seen[2], ["", 0]);
  assert.deepEqual(seen[3], ["debug\ndebug\ndebug\nerror\n", 1]);
  assert.deepEqual(seen[5], ["hB *\n\ndone\n", 0]);
});

test("return, break and exec end or replace the script, not the run", async (t) => {
  const seen = await session(
    t,
    "echo a; return 5; echo b",
    "break; continue; echo c",
    "if then",
    "exec echo replaced",
    "exec >/dev/null 2>&1; echo hidden",
    "echo shown",
  );
  assert.deepEqual(seen[0], ["a\n", 5]);
  assert.match(seen[1]?.[0] ?? "", /break: only meaningful[^]*c\n$/);
  assert.match(seen[2]?.[0] ?? "", /line 1: syntax error/);
  assert.equal(seen[2]?.[1], 2);
  assert.deepEqual(seen.slice(3), [
    ["replaced\n", 0],
    ["", 0],
    ["shown\n", 0],
  ]);
});

test("the death of the shell fails the activity; the next one gets a new shell with the last state", async (t) => {
  const { execute, run } = await scriptsRig(t);
  await run("export A=before; cd /usr");
  const dead = await execute("export A=lost; cd /; echo partly; kill -9 $$; echo no", "echo no");
  assert.equal(dead.kind, "failed");
  assert.ok(dead.kind === "failed" && dead.because === "killed");
  assert.match(dead.reason, /SIGKILL/);
  assert.deepEqual(
    dead.runs.map(({ output, exitCode }) => [output, exitCode]),
    [["partly\n", 137]],
  );
  assert.equal((await run('echo "$A"; pwd')).output, "before\n/usr\n");
});

test("a shell that dies between two scripts is replaced", async (t) => {
  const { run } = await scriptsRig(t);
  const { output } = await run("export A=1; echo $$");
  process.kill(-Number(output), "SIGKILL");
  assert.ok(await waitUntilGone([Number(output)], 30_000));
  assert.equal((await run('echo "$A"')).output, "1\n");
});

test("a shell that can't open files any more doesn't pretend that a script has run", async (t) => {
  const { execute, run } = await scriptsRig(t);
  await run("export A=1; ulimit -n 30");
  const failed = await execute("echo no");
  assert.ok(failed.kind === "failed" && failed.because === "broken");
  assert.match(failed.reason, /can't open/);
  assert.equal((await run('echo "$A"')).output, "1\n");
});

test("a script with a NUL, of which bash would run something else, is not run", async (t) => {
  const { execute, run } = await scriptsRig(t);
  const failed = await execute("echo a\0b");
  assert.ok(failed.kind === "failed" && failed.because === "broken");
  assert.equal((await run("echo on")).output, "on\n");
});

test("a job in the background outlives its script; nobody gets what it writes later", async (t) => {
  const { run } = await scriptsRig(t);
  const first = await run("mkfifo go done; { read <go; echo late; echo >done; } & JOB=$!; echo on");
  assert.equal(first.output, "on\n");
  const second = await run('echo >go; read <done; wait "$JOB"; echo $?; jobs');
  assert.equal(second.output, "0\n");
  await run(":");
  assert.equal(await readFile(first.outputFile, "utf8"), "on\n");
});

test("a shell that took over finds what it was started with removed, and the marks of the run kept", async (t) => {
  const { run, folder } = await scriptsRig(t, { variables: { GIVEN: "by the caller" } });
  assert.equal(
    (await run('echo "$GIVEN"; unset GIVEN AGENT_JOBS_RUN; exit')).output,
    "by the caller\n",
  );
  assert.equal(
    (await run('echo "${GIVEN-removed} $AGENT_JOBS_RUN"')).output,
    `removed ${folder.mark}\n`,
  );
});

test("scripts see the allow-list and what the caller gives, and nothing else of the environment", async (t) => {
  const { run } = await scriptsRig(t, {
    environment: {
      PATH: process.env["PATH"],
      GITHUB_TOKEN: "secret",
      BASH_ENV: "/tmp/x",
      MORE: "no",
    },
    variables: { NAMED: "yes" },
  });
  const names = (await run("env | sed 's/=.*//' | sort")).output.trim().split("\n");
  assert.deepEqual(
    names,
    "AGENT_JOBS_RUN AGENT_JOBS_SHELL NAMED OLDPWD PATH PWD SHLVL _".split(" "),
  );
});

test("a directory that is gone fails the next script instead of running it elsewhere", async (t) => {
  const { execute, run, workspace } = await scriptsRig(t);
  await run("mkdir gone; cd gone; rmdir ../gone; exit");
  const failed = await execute("echo no");
  assert.ok(failed.kind === "failed" && failed.because === "broken");
  assert.match(failed.reason, /gone/);
  assert.equal(failed.runs[0]?.output, "");
  assert.equal((await run("pwd")).output, `${workspace}\n`);
});

test("a run that is resumed begins where the checkpoint was; what the caller gives is not in it", async (t) => {
  const variables = { TOKEN: "not for a journal" };
  const before = await scriptsRig(t, { variables });
  await before.run("export A='1\n2' B=\"'\"; C=3; f() { echo f; }; unset HOME; cd /usr");
  const state: unknown = JSON.parse(JSON.stringify(before.runner.checkpoint()));
  assert.deepEqual(state, before.runner.checkpoint());
  assert.doesNotMatch(JSON.stringify(state), /not for a journal/);
  const after = await scriptsRig(t, { variables, state: before.runner.checkpoint() });
  assert.deepEqual(after.runner.checkpoint(), state);
  const { output } = await after.run('echo "$A$B${C-none}${HOME-none}$TOKEN"; f; pwd');
  assert.equal(output, "1\n2'nonenonenot for a journal\nf\n/usr\n");
});
