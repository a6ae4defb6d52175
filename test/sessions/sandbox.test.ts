/** Tries what an agent's commands and file tools can reach in a sandbox. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { runtimeSandbox } from "../../src/sandbox/sandbox.ts";
import { Confinement } from "../../src/sessions/confinement.ts";
import { makeCanaries } from "../rig/canaries.ts";
import { bash } from "../rig/model-server.ts";
import { withoutCurl } from "../rig/programs.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { attempts, create, makeAttemptRig, secret, view } from "./attempts.ts";
import { denials, successes } from "./rig.ts";

const options = { skip: withoutSandbox };
const permissions = {
  shell: true,
  read: ["!private/**"],
  write: ["out/**", "notes.md"],
  sandbox: "required",
} as const;

test("a link that a command flips beside a file tool leads nowhere", options, async (t) => {
  const rig = await makeAttemptRig(t);
  const flips = `while :; do ln -sfn ${rig.outside} out/x; rm -f out/x; mkdir -p out/x; rmdir out/x; done`;
  const flip = `timeout 6 bash -c '${flips}'`;
  const { path } = rig.workspace;
  const calls = Array.from({ length: 12 }, (_, index) => [
    view(join(path, "out/x/secret.txt")),
    // Else the turn ends after ten failures in a row.
    view(join(path, "inside.txt")),
    create(join(path, `out/x/made-${index}`)),
  ]).flat();
  const background = bash(flip, { mode: "async" });
  const { results } = await attempts(rig, permissions, [background, ...calls]);
  assert.doesNotMatch(results.join("\n"), new RegExp(secret));
  const left = Array.from({ length: 12 }, (_, index) => join(rig.outside, `made-${index}`));
  assert.deepEqual(left.filter(existsSync), []);
});

test(
  "the runtime, which a link may have led anywhere, reaches no more than its files",
  options,
  async (t) => {
    const { workspace, harm, outside, pid, secrets } = await makeCanaries(t);
    const { path: directory } = await makeWorkspace(t);
    const folder = join(directory, "sandbox");
    const confinement = new Confinement({ environment: process.env, scripted: false });
    const confined = await confinement.of(
      { ...permissions, write: ["out/**"] },
      { workingDirectory: workspace.path },
    );
    assert.ok(confined.kind === "sandboxed");
    const own = { environment: process.env, folder, writable: [directory], commands: {} };
    const { enter } = await runtimeSandbox({ ...confined.sandbox, ...own });
    const line = `cat ${secrets.join(" ")}; touch pwned ${outside}/pwned ${folder}/bin/sh ${folder}/hosts; kill -9 ${pid}
echo x >> ${folder}/bin/bwrap; echo x > /proc/sys/kernel/core_pattern; ls ${folder}/hidden; ls -d /proc/${pid}; touch ${directory}/made`;
    const { stdout } = await promisify(execFile)(enter, ["sh", "-c", line], {
      cwd: workspace.path,
    });
    assert.deepEqual(harm(stdout), []);
    assert.equal(stdout, "");
    assert.deepEqual(await readdir(join(folder, "bin")), ["bwrap"]);
    assert.doesNotMatch(await readFile(join(folder, "bin/bwrap"), "utf8"), /^x/m);
    assert.equal(existsSync(join(directory, "made")), true);
  },
);

test("file tools create what a pattern names, and commands don't", options, async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const { run, results } = await attempts(rig, permissions, [
    bash("echo x > notes.md"),
    create(join(path, "notes.md")),
    create(join(path, "other.md")),
    bash("cat notes.md; echo more >> notes.md"),
  ]);
  assert.deepEqual(successes(run), [true, true, false, true]);
  assert.match(results[0] ?? "", /Read-only file system/);
  assert.match(results[2] ?? "", /Denied: write of .*other\.md/);
  assert.equal(await readFile(join(path, "notes.md"), "utf8"), "new");
});

test("private files are hidden in other folders that are granted, too", options, async (t) => {
  const rig = await makeAttemptRig(t);
  await writeFile(join(rig.outside, ".env"), "A-PRIVATE-FILE\n");
  const read = [...permissions.read, `${rig.outside}/**`];
  const { results } = await attempts(rig, { ...permissions, read }, [
    bash(`cat ${rig.outside}/secret.txt ${rig.outside}/.env linked-folder/.env`),
  ]);
  assert.match(results[0] ?? "", new RegExp(secret));
  assert.doesNotMatch(results[0] ?? "", /A-PRIVATE-FILE/);
});

test(
  "hosts that are named are reached, others are not",
  { skip: withoutSandbox || withoutCurl },
  async (t) => {
    const rig = await makeAttemptRig(t);
    const port = new URL(rig.server.baseUrl).port;
    const ask = (host: string): string =>
      `curl -sm 5 -o out/a -w '%{http_code}' http://${host}:${port}/`;
    const { results } = await attempts(
      rig,
      { ...permissions, hosts: ["localhost", "!other.localhost"] },
      [bash(ask("localhost")), bash(ask("other.localhost")), bash(ask("169.254.169.254"))],
    );
    assert.match(results[0] ?? "", /^200/);
    for (const result of results.slice(1)) assert.match(result, /^403/);
    const { results: none } = await attempts(rig, { ...permissions, hosts: ["example.com"] }, [
      bash(ask("localhost")),
      bash(ask("127.0.0.1")),
    ]);
    for (const result of none) assert.match(result, /^000/);
    const { results: address } = await attempts(rig, { ...permissions, hosts: ["127.0.0.1"] }, [
      bash(ask("127.0.0.1")),
      bash(ask("localhost")),
    ]);
    assert.match(address[0] ?? "", /^200/);
    assert.match(address[1] ?? "", /^000/);
  },
);

test("an agent without a shell may fetch the addresses of permissions.url", options, async (t) => {
  const rig = await makeAttemptRig(t);
  const fetch = (url: string) => ({ name: "web_fetch", arguments: { url } });
  const { run, results } = await attempts(
    rig,
    { url: ["http://named.invalid/*"], sandbox: "required" },
    [fetch("http://named.invalid/page"), fetch("http://other.invalid/page")],
  );
  assert.match(results[0] ?? "", /lookup/, "it is tried");
  assert.deepEqual(
    denials(run).map(({ target }) => target),
    ["http://other.invalid/page"],
  );
  assert.ok(rig.server.requests.at(-1)?.tools.includes("web_fetch"));
  const withShell = { shell: true, url: ["http://named.invalid/*"], sandbox: "required" } as const;
  await attempts(rig, withShell, []);
  assert.equal(rig.server.requests.at(-1)?.tools.includes("web_fetch"), false);
});
