/** A tool cache, a fake npm and a small package in the place of the runtime's. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { type InstallLimits } from "../../src/runtime/install-runtime.ts";
import { ensureRuntime, type RuntimeRequest } from "../../src/runtime/provide-runtime.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const run = promisify(execFile);

export const platform = "linux-x64";
export const quickLimits: InstallLimits = {
  attemptMilliseconds: 10_000,
  totalMilliseconds: 20_000,
  waits: [10, 20],
};

export interface RuntimeRig {
  readonly workspace: Workspace;
  readonly toolCache: string;
  readonly temporary: string;
  readonly log: readonly string[];
  readonly warnings: readonly string[];
  /** The package that the fake npm can hand out: `$PACKAGE` in its script. */
  readonly package: { readonly file: string; readonly integrity: string };
  /** `script`: what `npm pack` does, in sh; `$TO` is the folder for the package, `$TRY` counts from 1. */
  npm(script: string): Promise<void>;
  ensure(request?: Partial<RuntimeRequest>): Promise<string>;
  /** Calls of npm so far. */
  calls(): Promise<string[]>;
  /** What is left under the temporary directory, and aside in the tool cache. */
  leftovers(): Promise<string[]>;
}

export async function makeRuntimeRig(test: TestContext): Promise<RuntimeRig> {
  const workspace = await makeWorkspace(test);
  const at = (...names: string[]): string => join(workspace.path, ...names);
  const executable = `prebuilds/${platform}/copilot-runtime`;
  await workspace.write(`source/package/${executable}`, "#!/bin/sh\necho runtime\n");
  await workspace.write("source/package/ripgrep/rg", "#!/bin/sh\n");
  await workspace.write("source/package/package.json", '{ "version": "0.0.0" }');
  await chmod(at("source/package", executable), 0o755);
  await chmod(at("source/package/ripgrep/rg"), 0o755);
  const file = at("package.tgz");
  await run("tar", ["-czf", file, "package"], { cwd: at("source") });
  const integrity = integrityOf(await readFile(file));
  await mkdir(at("bin"));
  await mkdir(at("temporary"));
  const log: string[] = [];
  const warnings: string[] = [];
  const usual: RuntimeRequest = {
    environment: { PATH: [at("bin"), process.env["PATH"]].join(delimiter) },
    toolCacheDirectory: at("tools"),
    temporaryDirectory: at("temporary"),
    searchFrom: at("action/dist"),
    platform,
    hashes: { [platform]: integrity },
    limits: quickLimits,
    log: (line) => log.push(line),
    warn: (text) => warnings.push(text),
  };
  return {
    workspace,
    toolCache: at("tools"),
    temporary: at("temporary"),
    log,
    warnings,
    package: { file, integrity },
    async npm(script) {
      const lines = [
        "#!/bin/sh",
        `echo "$PWD $*" >> '${at("calls")}'`,
        `TRY=$(wc -l < '${at("calls")}')`,
        `PACKAGE='${file}'`,
        'TO="$PWD"',
        script,
      ];
      await writeFile(at("bin/npm"), `${lines.join("\n")}\n`, { mode: 0o755 });
    },
    ensure: (request) => ensureRuntime({ ...usual, ...request }),
    async calls() {
      const text = await readFile(at("calls"), "utf8").catch(() => "");
      return text.split("\n").filter((line) => line !== "");
    },
    async leftovers() {
      const cached = await readdir(at("tools"), { recursive: true }).catch(() => []);
      const aside = cached.filter((name) => /\/\.[^/]+$/.test(`/${name}`));
      return [...(await readdir(at("temporary"))), ...aside];
    },
  };
}

export function integrityOf(content: Buffer): string {
  return `sha512-${createHash("sha512").update(content).digest("base64")}`;
}
