/** The action on a hosted runner whose sandbox doesn't work, with programs that stand in for the machine's. */
import assert from "node:assert/strict";
import { chmod, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { bash, modelServer } from "../rig/model-server.ts";
import { runStep } from "../rig/runner.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import type { Test } from "./rig.ts";

const real = "/usr/bin/bwrap";
const installs = `case "$*" in
  update) touch "$at/updated" ;;
  install*) [ -e "$at/updated" ] || { echo "E: 404 Not Found" >&2; exit 100; }; ln -s ${real} "$at/bwrap" ;;
esac`;
const restricted = `[ -e "$at/allowed" ] || { echo "bwrap: setting up uid map: Permission denied" >&2; exit 1; }
exec ${real} "$@"`;
const runs = 'shift; exec "$@"';

interface Machine {
  /** Program → what it does, as a shell script in a folder `$at` that is first in `PATH`. */
  readonly programs: Readonly<Record<string, string>>;
  readonly given?: Readonly<Record<string, string>>;
  readonly runner?: string;
  readonly permissions?: object;
}

describe("on a hosted runner", () => {
  async function step(t: Test, { programs, ...machine }: Machine) {
    const { permissions = { shell: ["echo *"], write: ["*"] }, given = {} } = machine;
    const { path } = await makeWorkspace(t, {
      "e.json": JSON.stringify({
        models: { driving: "m" },
        // A file that mentions the sandbox keeps the default.
        tasks: { a: { prompt: "Use the sandbox", model: { category: "driving" }, permissions } },
        jobs: { j: { work: { kind: "Ref", taskId: "a" } } },
      }),
      made: "",
    });
    const server = await modelServer(t, ({ toolResults }) =>
      toolResults.length === 0 && "shell" in permissions
        ? { toolCalls: [bash("echo inside > made")] }
        : { text: "Done." },
    );
    const at = (await makeWorkspace(t)).path;
    const noted = (name: string): string => `#!/bin/sh\nat=${at}\necho "${name} $*" >> $at/calls\n`;
    for (const [name, script] of Object.entries(programs)) {
      const head = name === "bwrap" ? `#!/bin/sh\nat=${at}\n` : noted(name);
      await writeFile(join(at, name), `${head}${script}\n`);
      await chmod(join(at, name), 0o755);
    }
    const { path: linked } = await makeWorkspace(t);
    for (const name of ["bash", "cat", "env", "git", "head", "ln", "mkdir", "sh", "touch"])
      await symlink(`/usr/bin/${name}`, join(linked, name));
    await symlink(process.execPath, join(linked, "node"));
    const result = await runStep(t, {
      workspace: path,
      env: {
        PATH: [at, linked].join(delimiter),
        RUNNER_ENVIRONMENT: machine.runner ?? "github-hosted",
        AGENT_JOBS_RUNTIME_PATH: findRuntime({ environment: process.env }),
      },
      inputs: {
        entry: "e.json",
        "provider-base-url": server.baseUrl,
        ...given,
      },
    });
    const text = (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");
    return {
      ...result,
      reason: result.outputs["reason"] ?? "",
      /** The programs that were started, with their arguments. */
      calls: (await text(join(at, "calls"))).split("\n").filter((line) => line !== ""),
      modelRequests: server.requests.length,
      made: await text(join(path, "made")),
      /** The AppArmor profile, if one was loaded. */
      profile: await text(join(at, "profile")),
    };
  }

  const skip = { skip: withoutSandbox };

  it("installs bubblewrap, with a fresh list of packages if it has to", skip, async (t) => {
    const tried = await step(t, { programs: { sudo: runs, "apt-get": installs } });
    assert.equal(tried.code, 0, tried.raw);
    assert.equal(tried.made, "inside\n");
    const install = "install --yes --no-install-recommends bubblewrap";
    const [sudo, ...others] = tried.calls;
    assert.match(sudo ?? "", /^sudo -n sh -c /);
    assert.deepEqual(others, [`apt-get ${install}`, "apt-get update", `apt-get ${install}`]);
    assert.match(
      tried.log,
      /^Sandbox: installed bubblewrap \(\d+\.\d s\)\. The sandbox works\.$/m,
      tried.raw,
    );
  });

  it("lets bubblewrap alone make user namespaces, else everybody", skip, async (t) => {
    const parser = 'cat > "$at/profile"; touch "$at/allowed"';
    const sysctl = 'touch "$at/allowed"';
    const narrow = await step(t, {
      programs: { bwrap: restricted, sudo: runs, apparmor_parser: parser, sysctl },
    });
    assert.equal(narrow.code, 0, narrow.raw);
    assert.equal(narrow.made, "inside\n");
    assert.match(
      narrow.profile,
      /^profile bwrap \/usr\/bin\/bwrap flags=\(unconfined\) \{\n  userns,\n\}$/m,
    );
    const loads = ["sudo -n apparmor_parser --replace", "apparmor_parser --replace"];
    assert.deepEqual(narrow.calls, loads);
    const wide = await step(t, {
      programs: { bwrap: restricted, sudo: runs, apparmor_parser: "exit 1", sysctl },
    });
    assert.equal(wide.code, 0, wide.raw);
    const lifts = "sysctl --write kernel.apparmor_restrict_unprivileged_userns=0";
    assert.deepEqual(wide.calls, [...loads, `sudo -n ${lifts}`, lifts]);
    assert.match(
      wide.log,
      /^Sandbox: an AppArmor profile .* could not be loaded \(.*; lifted AppArmor's restriction of user namespaces \(/m,
    );
  });

  it("refuses the task with the reason if nothing helps", async (t) => {
    const password = 'echo "sudo: a password is required" >&2; exit 1';
    for (const [programs, reason] of [
      [{ sudo: password }, /\(bubblewrap is not installed\)\. Install it with/],
      [
        { bwrap: restricted, sudo: password },
        /\(bubblewrap doesn't work: bwrap: setting up uid map: Permission denied\)\. Allow it/,
      ],
    ] as const) {
      const tried = await step(t, { programs });
      assert.match(tried.reason, /This machine has no sandbox/);
      assert.match(tried.reason, reason);
      assert.match(tried.log, /^Sandbox: .* could not be .* The sandbox doesn't work\.$/m);
      assert.deepEqual([tried.code, tried.modelRequests, tried.made], [1, 0, ""], tried.raw);
    }
  });

  it("changes nothing on the machine without a need, or on one that isn't GitHub's", async (t) => {
    const programs = { sudo: runs, "apt-get": installs };
    const selfHosted = await step(t, { programs, runner: "self-hosted" });
    assert.match(selfHosted.reason, /no sandbox \(bubblewrap is not/);
    const reads = await step(t, { programs, permissions: { read: ["**"] } });
    assert.equal(reads.code, 0, reads.raw);
    const off = await step(t, {
      programs,
      permissions: { shell: ["echo *"], write: ["*"], sandbox: "off" },
      given: { sandbox: "off" },
    });
    assert.equal(off.made, "inside\n", off.raw);
    assert.equal(off.log.match(/run without a sandbox: the sandbox is off/g)?.length, 1);
    for (const { calls } of [selfHosted, reads, off]) assert.deepEqual(calls, []);
  });

  it("takes the stricter one of the input and the entry", skip, async (t) => {
    const programs = { sudo: runs, "apt-get": installs };
    const required = await step(t, {
      programs,
      permissions: { read: ["**"], sandbox: "off" },
      given: { sandbox: "required" },
    });
    assert.equal(required.code, 0, required.raw);
    assert.equal(required.calls.length, 4);
    const off = await step(t, { programs, given: { sandbox: "off" } });
    assert.match(off.reason, /^`sandbox` can't turn off the sandbox unless/);
    assert.deepEqual([off.code, off.modelRequests, off.calls], [1, 0, []]);
  });
});
