import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test, type TestContext } from "node:test";
import type { Permissions } from "../../../src/entry/model.ts";
import type { ShellState } from "../../../src/events/event.ts";
import { decidePermission } from "../../../src/permissions/policy.ts";
import { realFiles } from "../../../src/sessions/permission-handler.ts";
import type { Executor } from "../../../src/workflow/run/executors.ts";
import { makeWorkspace } from "../../rig/workspace.ts";
import { withoutPython } from "../../rig/programs.ts";
import { scriptTags } from "../../../src/workflow/run/script-runner.ts";
import { scriptsRig } from "./scripts-rig.ts";

async function reasonOf(
  t: TestContext,
  permissions: Permissions,
  ...scripts: readonly string[]
): Promise<string> {
  const { execute } = await scriptsRig(t, { permissions });
  const executed = await execute(...scripts);
  assert.ok(executed.kind === "failed", JSON.stringify(executed));
  assert.equal(executed.because, "denied");
  assert.deepEqual(executed.runs, []);
  return executed.reason;
}

test("a script is judged like a command of an agent's shell", async (t) => {
  const permissions: Permissions = { shell: ["echo *", "cat *", "!git push"] };
  const { execute, workspace } = await scriptsRig(t, { permissions });
  const scripts = [
    "echo a",
    "echo a; echo b",
    "cat <<'X'\nX",
    "echo $(id)",
    "cat /etc/passwd",
    "cat .env",
    "echo a &",
    "git push",
    "ls",
    "f() { ls; }",
    "export A=1",
    "echo a > file",
  ];
  for (const command of scripts) {
    const context = { ...realFiles, workingDirectory: workspace };
    const decision = decidePermission(permissions, { kind: "shell", command }, context);
    const { kind } = await execute(command);
    assert.equal(kind, decision.kind === "allowed" ? "executed" : "failed", command);
  }
});

test("nothing of an activity runs if one of its scripts is denied", async (t) => {
  const { execute, workspace } = await scriptsRig(t, { permissions: { shell: ["touch *"] } });
  const executed = await execute("touch made", "rm made");
  assert.equal(executed.kind, "failed");
  assert.equal(existsSync(`${workspace}/made`), false);
});

test("git doesn't take the files of a checkout for a repository where patterns allow commands", async (t) => {
  const outcomeOf = async (shell: true | string[]): Promise<readonly [string, boolean]> => {
    const { execute, workspace } = await scriptsRig(t, { permissions: { shell } });
    const configuration = `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = "touch ${workspace}/pwned;"\n`;
    const files = {
      HEAD: "ref: refs/heads/x\n",
      config: configuration,
      "objects/a": "",
      "refs/a": "",
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(`${workspace}/bare/${name}`), { recursive: true });
      writeFileSync(`${workspace}/bare/${name}`, text);
    }
    const { kind, runs } = await execute("cd bare", "git status");
    assert.equal(kind, "executed");
    return [runs[1]?.output ?? "", existsSync(`${workspace}/pwned`)];
  };
  const [message, ran] = await outcomeOf(["cd *", "git status *"]);
  assert.match(message, /cannot use bare repository/);
  assert.equal(ran, false);
  assert.equal((await outcomeOf(true))[1], true, "in an open shell, git is as it is");
});

test("a journal makes nothing of the shell that a script might not", async (t) => {
  const first = await scriptsRig(t, { permissions: { shell: ["cd *", "export *", "echo *"] } });
  const { workspace } = first;
  mkdirSync(`${workspace}/sub`);
  await first.execute("cd sub", "export A='b c'");
  const own = first.runner.checkpoint();
  assert.deepEqual([own.workingDirectory, own.variables["A"]], [`${workspace}/sub`, "b c"]);
  const nothing: ShellState = {
    workingDirectory: workspace,
    variables: {},
    removed: [],
    functions: "",
  };
  const states: readonly [ShellState, RegExp][] = [
    [{ ...nothing, functions: `touch ${workspace}/made` }, /touch/],
    [{ ...nothing, functions: "echo () { touch made; }" }, /echo/],
    [{ ...nothing, variables: { PATH: `${workspace}/sub` } }, /export PATH=/],
    [{ ...nothing, workingDirectory: `${workspace}/sub` }, /cd /],
    [{ ...nothing, removed: ["LANG"] }, /unset -v LANG/],
    [own, /export A=/],
  ];
  for (const [state, reason] of states) {
    const { execute } = await scriptsRig(t, {
      workingDirectory: workspace,
      permissions: { shell: ["echo *"] },
      state,
    });
    const executed = await execute("echo a");
    assert.ok(executed.kind === "failed" && executed.because === "denied", String(reason));
    assert.match(executed.reason, /restore the shell/);
    assert.match(executed.reason, reason);
  }
  for (const shell of [["cd *", "export *", "echo *"], true] as const) {
    const { run } = await scriptsRig(t, {
      workingDirectory: workspace,
      permissions: { shell: shell === true ? true : [...shell] },
      state: own,
    });
    assert.equal((await run("echo a")).output, "a\n");
  }
  assert.equal(existsSync(`${workspace}/made`), false);
});

test("what the reason recommends does allow the script", async (t) => {
  for (const script of ["npm test", "cat /etc/hostname", "echo 'a b'", "if true; then ls; fi"]) {
    const reason = await reasonOf(t, { shell: ["true"] }, script);
    const [, pattern] = /add ("(?:[^"\\]|\\.)*") to permissions\.shell/.exec(reason) ?? [];
    const parsed: unknown = pattern === undefined ? true : JSON.parse(pattern);
    const shell = typeof parsed === "string" ? ["true", parsed] : true;
    const { runner, execute } = await scriptsRig(t, { permissions: { shell } });
    assert.equal((await execute(script)).kind, "executed", reason);
    await runner.close();
  }
});

test(
  "python runs where the permissions allow its command, where the shell is",
  { skip: withoutPython },
  async (t) => {
    const code = "import os, sys\nprint(os.getcwd(), os.environ['A'])\nsys.exit(3)";
    for (const permissions of [
      "workspace",
      { shell: ["python3 **", "export *", "cd *"], read: ["/usr/**"] },
    ] as const) {
      const { execute } = await scriptsRig(t, { permissions });
      const executed = await execute("export A=exported; cd /usr", { tag: "python", code });
      assert.deepEqual(
        executed.runs.map(({ output, exitCode }) => [output, exitCode]),
        [
          ["", 0],
          ["/usr exported\n", 3],
        ],
        JSON.stringify(executed),
      );
    }
    const { execute } = await scriptsRig(t, { permissions: { shell: ["echo *"] } });
    const executed = await execute("echo a", { tag: "python", code });
    assert.ok(executed.kind === "failed" && executed.because === "denied");
    assert.deepEqual(executed.runs, []);
  },
);

test(
  "no python3 is taken of a folder in PATH that is in the checkout, or that a script has put there",
  { skip: withoutPython },
  async (t) => {
    const workspace = await makeWorkspace(t);
    const checkout = workspace.path;
    chmodSync(await workspace.write("bin/python3", "#!/bin/sh\necho planted\n"), 0o755);
    const environment = {
      PATH: `${checkout}/bin:${process.env["PATH"]}`,
      GITHUB_WORKSPACE: checkout,
    };
    const { execute } = await scriptsRig(t, { environment });
    const plant = String.raw`mkdir bin; printf '#!/bin/sh\necho planted\n' >bin/python3; chmod +x bin/python3`;
    const shell = `${plant}; export PATH="$PWD/bin:$PATH"; sleep 100 & echo $!`;
    const { runs } = await execute(shell, { tag: "python", code: "print(1)" }, "kill -0 $!");
    assert.deepEqual([runs[1]?.output, runs[2]?.exitCode], ["1\n", 0]);
  },
);

test("a python script has the same bounds", { skip: withoutPython }, async (t) => {
  const permissions = { preset: "workspace", shell: ["python3 **"] } as const;
  const { runner, clock, execute } = await scriptsRig(t, { permissions });
  const code =
    "import sys, time\nprint(repr(sys.stdin.read()))\nprint('e', file=sys.stderr)\ntime.sleep(1000)";
  let text = "";
  const ended = await runner.execute([{ tag: "python", code }], {
    signal: new AbortController().signal,
    onOutput: (delta) => {
      text += delta.text;
      if (text === "''\ne\n") clock.pass(30 * 60_000);
    },
  });
  assert.ok(ended.kind === "failed" && ended.because === "limit");
  assert.equal(ended.runs[0]?.output, "''\ne\n");
  const killed = await execute({ tag: "py", code: "import os\nos.kill(os.getpid(), 9)" });
  assert.ok(killed.kind === "failed" && killed.because === "killed");
  const failing = await execute({ tag: "python", code: "nope" });
  assert.match(failing.runs[0]?.output ?? "", /line 1[^]*NameError/);
});

test("the host can add executors, which share the bounds, and take tags over", async (t) => {
  const upper: Executor = {
    tags: ["Upper", "bash"],
    run: (code, { write, workingDirectory }) => {
      const text = `${code.toUpperCase()} in ${workingDirectory}`;
      write({ stream: "stdout", bytes: new TextEncoder().encode(text) });
      return Promise.resolve({ kind: "exited", exitCode: 4 });
    },
  };
  const judged: Executor = { ...upper, tags: ["judged"], command: (code) => `upper ${code}` };
  const mute: Executor = {
    ...upper,
    tags: ["mute"],
    command: () => {
      throw new Error("No words");
    },
  };
  const broken: Executor = { tags: ["broken"], run: () => Promise.reject(new Error("It broke")) };
  const executors = [upper, judged, broken, mute];
  const { execute, workspace } = await scriptsRig(t, { permissions: "read-only", executors });
  assert.deepEqual(
    scriptTags({ executors }),
    "upper bash judged broken mute sh shell python python3 py".split(" "),
  );
  const { runs } = await execute({ tag: "upper", code: "a" }, "b");
  assert.deepEqual(
    runs.map(({ output, exitCode }) => [output, exitCode]),
    [
      [`A in ${workspace}`, 4],
      [`B in ${workspace}`, 4],
    ],
  );
  const denied = await execute({ tag: "judged", code: "a" });
  assert.ok(denied.kind === "failed" && denied.because === "denied");
  const unnamed = await execute({ tag: "mute", code: "a" });
  assert.ok(unnamed.kind === "failed" && unnamed.because === "denied");
  assert.match(unnamed.reason, /mute can't tell[^]*No words/);
  const failed = await execute({ tag: "broken", code: "a" });
  assert.ok(failed.kind === "failed" && failed.because === "broken");
  assert.equal(failed.reason, "It broke");
});

test("an executor that ignores its signal is not waited for", async (t) => {
  const stubborn: Executor = { tags: ["stubborn"], run: () => new Promise(() => {}) };
  const { clock, execute } = await scriptsRig(t, { executors: [stubborn] });
  const executing = execute({ tag: "stubborn", code: "" });
  await new Promise((resolve) => setImmediate(resolve));
  clock.pass(30 * 60_000);
  await new Promise((resolve) => setImmediate(resolve));
  clock.pass(60_000);
  const ended = await executing;
  assert.ok(ended.kind === "failed" && ended.because === "limit");
});
