/** A tool cache, and a registry with a small package in the place of the runtime's. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { runtimeVersion } from "../../src/generated/runtime-hashes.ts";
import { ensureRuntime, type RuntimeRequest } from "../../src/runtime/provide-runtime.ts";
import { listen } from "../rig/listen.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const run = promisify(execFile);

export const platform = "linux-x64";
export const quickLimits = { attempt: 30_000, total: 60_000, waits: [10, 20] } as const;

export interface RuntimeRig {
  readonly workspace: Workspace;
  readonly toolCache: string;
  readonly temporary: string;
  readonly log: readonly string[];
  readonly warnings: readonly string[];
  readonly integrity: string;
  /** Puts a script for sh in the place of npm, which `$NPM` is. */
  npm(script: string): Promise<void>;
  /** How the registry answers the next requests for the package. Default: with all of it. */
  readonly answers: ((whole: Buffer) => Buffer)[];
  ensure(request?: Partial<RuntimeRequest>): Promise<string>;
  /** How often the package was asked for. */
  downloads(): number;
  /** Lists leftovers in the temporary directory and in the tool cache. */
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
  const content = await readFile(file);
  const integrity = integrityOf(content);
  const answers: ((whole: Buffer) => Buffer)[] = [];
  let downloads = 0;
  const server = createServer(({ url = "", headers: { host = "" } }, response) => {
    if (url.endsWith(".tgz")) {
      downloads += 1;
      response.end((answers.shift() ?? ((whole) => whole))(content));
      return;
    }
    const name = decodeURIComponent(url.slice(1));
    const dist = { tarball: `http://${host}/package.tgz` };
    const versions = { [runtimeVersion]: { name, version: runtimeVersion, dist } };
    response.end(JSON.stringify({ name, versions }));
  });
  const registry = {
    NPM_CONFIG_REGISTRY: await listen(test, server),
    NPM_CONFIG_CACHE: at("npm-cache"),
    HOME: at("home"),
  };
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "npm"));
  const npm = paths.find((path) => existsSync(path)) ?? "npm";
  await mkdir(at("bin"));
  await mkdir(at("temporary"));
  const log: string[] = [];
  const warnings: string[] = [];
  const usual: RuntimeRequest = {
    environment: { PATH: [at("bin"), process.env["PATH"]].join(delimiter), ...registry },
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
    integrity,
    answers,
    npm: (script) =>
      writeFile(at("bin/npm"), `#!/bin/sh\nNPM='${npm}'\n${script}\n`, { mode: 0o755 }),
    ensure: ({ environment, ...request } = {}) =>
      ensureRuntime({
        ...usual,
        ...request,
        environment: { ...usual.environment, ...environment },
      }),
    downloads: () => downloads,
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
