import assert from "node:assert/strict";
import { existsSync, readFileSync, realpathSync, symlinkSync, unlinkSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { dockerfileOf, imageOf } from "../../src/tools/builds.ts";
import { makeTemporaryDirectory, removeDirectory } from "../../src/platform/files.ts";
import { callsRig, writeFiles, type CallsRig, type Declared } from "./rig.ts";

const node = process.execPath;

/** In place of Docker: notes what it is asked, and runs the program of `run` on this machine. */
const standIn = `#!${node}
  const fs = require("node:fs");
  const { spawnSync } = require("node:child_process");
  const args = process.argv.slice(2);
  const input = args[0] === "rm" ? "" : fs.readFileSync(0, "utf8");
  fs.appendFileSync(__dirname + "/asked", JSON.stringify({ args, input }) + "\\n");
  if (args[0] === "build" && input.includes("FAIL")) { console.error("no such package"); process.exit(1); }
  if (args[0] === "run" && input.includes("hang")) { console.error("hanging !"); setInterval(() => {}, 1000); }
  else if (args[0] === "run") {
    const at = args.indexOf("--entrypoint");
    const names = args.flatMap((arg, index) => args[index - 1] === "--env" ? [arg] : []);
    const env = Object.fromEntries(names.map((name) => name.includes("=") ? name.split("=") : [name, process.env[name]]));
    env.PATH = process.env.PATH;
    const cwd = args[args.indexOf("--workdir") + 1];
    const { status } = spawnSync(args[at + 1], args.slice(at + 3), { input, cwd, env, stdio: ["pipe", "inherit", "inherit"] });
    process.exit(status ?? 1);
  }
`;

interface Asked {
  readonly args: readonly string[];
  readonly input: string;
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = realpathSync(await makeTemporaryDirectory("docker-"));
  t.after(() => removeDirectory(folder));
  return folder;
}

async function dockerRig(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  tools: Readonly<Record<string, Declared>>,
  {
    withDocker = true,
    environment = {},
    folders = [],
  }: {
    readonly withDocker?: boolean;
    readonly environment?: Readonly<Record<string, string>>;
    /** Folders of `PATH` before the one with Docker. */
    readonly folders?: readonly string[];
  } = {},
): Promise<CallsRig & { readonly asked: () => Asked[] }> {
  const bin = await makeFolder(t);
  symlinkSync(node, `${bin}/node`);
  symlinkSync("/bin/sh", `${bin}/sh`);
  if (withDocker) writeFiles(bin, { docker: standIn });
  const rig = await callsRig(t, files, tools, {
    environment: { ...environment, PATH: [...folders, bin].join(":"), GITHUB_TOKEN: "ghp_x" },
    variables: { ALLOWED: "yes", AGENT_JOBS_RESULTS: "/tmp/a,b" },
  });
  const asked = (): Asked[] =>
    existsSync(`${bin}/asked`)
      ? readFileSync(`${bin}/asked`, "utf8")
          .trim()
          .split("\n")
          .map((line): Asked => JSON.parse(line))
      : [];
  return { ...rig, asked };
}

const recipe = "from: node:24-slim\npackages: [jq]\n";
const image = imageOf(dockerfileOf({ from: "node:24-slim", packages: ["jq"] }));

test("where there is Docker, a command with a recipe runs in a container of its image", async (t) => {
  const files = {
    "tools/show.mjs": `
      import { text } from "node:stream/consumers";
      const { ALLOWED, GITHUB_TOKEN, HOME } = process.env;
      console.error("working");
      console.log(JSON.stringify({ params: JSON.parse(await text(process.stdin)), cwd: process.cwd(), ALLOWED, GITHUB_TOKEN, HOME }));
    `,
    "tools/build.tool.yml": recipe,
  };
  const command = ["node", "tools/show.mjs"];
  const { call, asked, workspace } = await dockerRig(t, files, { show: { command } });
  const { outcome, progress } = await call("show", { a: 1 });
  assert.deepEqual(outcome, {
    kind: "succeeded",
    value: { params: { a: 1 }, cwd: workspace, ALLOWED: "yes", HOME: "/tmp" },
  });
  assert.deepEqual(progress.at(-1), { message: "working" });
  await call("show");
  const [build, run, again, ...more] = asked();
  assert.deepEqual(build?.args, ["build", "--tag", image, "-"]);
  assert.equal(build?.input, dockerfileOf({ from: "node:24-slim", packages: ["jq"] }));
  assert.deepEqual(more, []);
  const args = run?.args ?? [];
  const name = args[args.indexOf("--name") + 1] ?? "";
  assert.match(name, /^agent-jobs-[0-9a-f-]+$/);
  assert.notEqual(again?.args[again.args.indexOf("--name") + 1], name);
  assert.deepEqual(args, [
    "run",
    "--rm",
    "--interactive",
    "--init",
    "--name",
    name,
    "--user",
    `${process.getuid?.()}:${process.getgid?.()}`,
    "--mount",
    `type=bind,source=${workspace},target=${workspace}`,
    "--mount",
    `type=bind,"source=/tmp/a,b","target=/tmp/a,b",readonly`,
    "--workdir",
    workspace,
    ..."ALLOWED AGENT_JOBS_RESULTS AGENT_JOBS_RUN AGENT_JOBS_TOOLBOX AGENT_JOBS_CALL HOME=/tmp"
      .split(" ")
      .flatMap((variable) => ["--env", variable]),
    "--entrypoint",
    "node",
    image,
    "tools/show.mjs",
  ]);
  assert.deepEqual(run?.input, '{"a":1}\n');
});

test("a module with a recipe runs in a container, and its output is no part of the result", async (t) => {
  const files = {
    "tools/talks.ts": `
      export const talk = (params: { n: number }, { progress }: any): object => {
        console.log("printed");
        progress({ percent: 40 });
        if (params.n === 2) throw new Error("two is wrong");
        return { n: params.n };
      };
    `,
    "tools/build.tool.yml": recipe,
  };
  const declared = { module: "tools/talks.ts", export: "talk" };
  const { call, asked, failure } = await dockerRig(t, files, { talk: declared });
  const { outcome, progress } = await call("talk", { n: 1 });
  assert.deepEqual(outcome, { kind: "succeeded", value: { n: 1 } });
  assert.deepEqual(progress.slice(-2), [{ message: "printed" }, { percent: 40 }]);
  assert.equal((await failure("talk", { n: 2 })).reason, "two is wrong");
  const args = asked().find((one) => one.args[0] === "run")?.args ?? [];
  const mounts = args.filter((_, index) => args[index - 1] === "--mount");
  assert.deepEqual(
    mounts.map((mount) => mount.endsWith(",readonly")),
    [false, true, true, true],
  );
});

test("a container is removed when its call is canceled", async (t) => {
  const files = { "tools/hang.mjs": "", "tools/build.tool.yml": recipe };
  const { tool, asked, leftovers } = await dockerRig(t, files, {
    hang: { command: ["node", "tools/hang.mjs"] },
  });
  const controller = new AbortController();
  const called = await tool("hang");
  const { kind } = await called.run(
    { id: "a", tool: "hang", params: { hang: true } },
    {
      signal: controller.signal,
      onProgress: ({ message }) => void (message === "hanging !" && controller.abort()),
    },
  );
  assert.equal(kind, "failed");
  const [, run, removal] = asked();
  const name = run?.args[run.args.indexOf("--name") + 1];
  assert.deepEqual(removal?.args, ["rm", "--force", name]);
  assert.deepEqual(await leftovers(), []);
});

test("the Docker that was found is the one that is started", async (t) => {
  const [checkout, folder] = [await makeFolder(t), await makeFolder(t)];
  writeFiles(checkout, { docker: "#!/bin/sh\necho 2\n" });
  symlinkSync(`${checkout}/docker`, `${folder}/docker`);
  const files = { "tools/a.mjs": "console.log(1)", "tools/build.tool.yml": recipe };
  const declared = { a: { command: ["node", "tools/a.mjs"] } };
  const { asked, resultOf } = await dockerRig(t, files, declared, {
    environment: { GITHUB_WORKSPACE: checkout },
    folders: [folder],
  });
  assert.equal(await resultOf("a"), 1);
  assert.deepEqual(
    asked().map(({ args: [what] }) => what),
    ["build", "run"],
  );
});

test("an image that can't be built fails the call with the end of Docker's log", async (t) => {
  const files = { "tools/a.mjs": "", "tools/build.tool.yml": `${recipe}run: [FAIL]\n` };
  const { failure } = await dockerRig(t, files, { a: { command: ["node", "tools/a.mjs"] } });
  const { reason, tail } = await failure("a");
  assert.match(reason, /The build of a failed\. docker exited with code 1/);
  assert.equal(tail, "no such package");
});

test("a recipe of lines and variables runs here, before the first call, whether or not there is Docker", async (t) => {
  const files = {
    "tools/show.mjs": `
      import { readFileSync } from "node:fs";
      console.log(JSON.stringify([readFileSync("built", "utf8"), process.env.GREETING]));
    `,
    "tools/build.tool.yml": `run:\n  - printf %s "$GREETING" >> built\n  - printf '!' >> built\nenv: { GREETING: hello }\n`,
  };
  const command = ["node", "tools/show.mjs"];
  for (const withDocker of [true, false]) {
    const { call, asked } = await dockerRig(t, files, { show: { command } }, { withDocker });
    for (const _ of ["first", "second"]) {
      const { outcome } = await call("show");
      assert.deepEqual(outcome, { kind: "succeeded", value: ["hello!", "hello"] });
    }
    assert.deepEqual(asked(), []);
  }
});

test("without Docker a recipe with an image or packages fails, and says what to do", async (t) => {
  const files = { "tools/a.mjs": "", "tools/build.tool.yml": recipe };
  const { failure } = await dockerRig(
    t,
    files,
    { a: { command: ["node", "tools/a.mjs"] } },
    { withDocker: false },
  );
  assert.match(
    (await failure("a")).reason,
    /tools\/build\.tool\.yml needs the image node:24-slim and the packages jq, and there is no Docker on this machine\. Install Docker/,
  );
});

test("a recipe is found beside the first part of the command that is a file of the checkout", async (t) => {
  const files = {
    "build.tool.yml": "from: root",
    "tools/a.mjs": "",
    "tools/build.tool.yml": "from: wrong image",
    "alone/b.mjs": "console.log(1)",
    "run.sh": "#!/bin/sh\necho 1",
  };
  const { workspace, resultOf, failure } = await dockerRig(
    t,
    files,
    {
      beside: { command: ["node", "tools/a.mjs", "run.sh"] },
      root: { command: ["./run.sh"] },
      none: { command: ["node", "alone/b.mjs"] },
      program: { command: ["node", "-p", "2"] },
      both: { command: ["./run.sh"], build: { command: ["node", "-v"], inputs: [] } },
      linked: { command: ["node", "alone/b.mjs"] },
    },
    { withDocker: false },
  );
  const reason = async (name: string): Promise<string> => (await failure(name)).reason;
  assert.match(await reason("beside"), /^tools\/build\.tool\.yml:1:7: recipe\.from: /);
  assert.match(await reason("root"), /^build\.tool\.yml needs the image root/);
  assert.match(await reason("both"), /tools\.both has both build and build\.tool\.yml/);
  assert.equal(await resultOf("none"), 1);
  assert.equal(await resultOf("program"), 2);
  symlinkSync("/etc/hosts", `${workspace}/alone/build.tool.yml`);
  assert.match(await reason("linked"), /is not a file of the working directory/);
  unlinkSync(`${workspace}/alone/build.tool.yml`);
});
