/** The package as an application that installs it sees it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { findRuntime } from "../src/runtime/find-runtime.ts";
import { dist, installPackage } from "./rig/dist.ts";
import { makeWorkspace } from "./rig/workspace.ts";

interface Declared {
  readonly name: string;
  readonly file: string;
  readonly documented: boolean;
  /** Members of an interface or class without a text of their own. */
  readonly silentMembers: readonly string[];
}

/** Follows re-exports to the declarations. */
function declarationsOf(file: string, only?: ReadonlySet<string>): Declared[] {
  const text = readFileSync(file, "utf8");
  const wanted = (name: string): boolean => only === undefined || only.has(name);
  const found: Declared[] = [];
  const at = (specifier: string): string =>
    join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts"));
  for (const [, specifier = ""] of text.matchAll(/^export \* from "(.+)";/gm)) {
    found.push(...declarationsOf(at(specifier), only));
  }
  for (const [, list = "", specifier = ""] of text.matchAll(
    /^export (?:type )?\{([^}]*)\} from "(.+)";/gm,
  )) {
    const names = list.split(",").map((one) =>
      one
        .trim()
        .replace(/^type\s+/, "")
        .split(" as "),
    );
    const here = names.filter(([name = "", as = name]) => name !== "" && wanted(as));
    if (here.length === 0) continue;
    const asNamed = new Map(here.map(([name = "", as = name]) => [name, as]));
    for (const one of declarationsOf(at(specifier), new Set(asNamed.keys()))) {
      found.push({ ...one, name: asNamed.get(one.name) ?? one.name });
    }
  }
  const declaration =
    /^export (?:declare )?(?:abstract )?(?:class|function|const|interface|type|enum) (\w+)/gm;
  for (const { 1: name = "", index } of text.matchAll(declaration)) {
    if (!wanted(name)) continue;
    const documented = text.slice(0, index).trimEnd().endsWith("*/");
    found.push({ name, file, documented, silentMembers: silentMembers(text.slice(index)) });
  }
  return found;
}

function silentMembers(declaration: string): string[] {
  const [head = "", ...lines] = declaration.split("\n");
  if (!/^export (?:declare )?(?:class|interface) /.test(head) || !head.endsWith("{")) return [];
  const silent: string[] = [];
  let before = "";
  for (const line of lines.slice(0, lines.indexOf("}"))) {
    const name = /^ {4}(?:readonly |get |static )*(\w+)[?(:<]/.exec(line)?.[1];
    if (name !== undefined && name !== "constructor" && !before.endsWith("*/")) silent.push(name);
    before = line;
  }
  return silent;
}

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const compiled = join(root, "build/src");

describe("everything that is exported", () => {
  for (const file of ["index.d.ts", "entry/index.d.ts", "run/testing.d.ts"]) {
    it(`from ${file} has a text for editors to show`, () => {
      const declared = declarationsOf(join(compiled, file));
      assert.ok(declared.length > (file === "run/testing.d.ts" ? 4 : 20));
      const silent = declared.flatMap(({ name, documented, silentMembers }) => [
        ...(documented ? [] : [name]),
        ...silentMembers.map((member) => `${name}.${member}`),
      ]);
      assert.deepEqual(silent, []);
    });
  }
});

describe("the names that are exported", () => {
  it("are those of the documentation", async (t) => {
    const { path } = await makeWorkspace(t);
    const installed = await installPackage(path);
    const library: object = await import(join(installed, "dist/cli/library.js"));
    const expected = `
      DiagnosticsError JobHost actionDocumentSchema applyEvent assignWorkId availableTools
      createActionExecutor createJournal createRunView decisionCategory decisionOf decisionText
      diagnosticLine ensureInstalledEntry errorToDetailedString expandPromptDynamic
      expandPromptStatic generateChartNodes hasRunningSessions helperGetSession
      helperPushSessionResponse helperSessionStart helperSessionStop installJobsEntry loadEntry
      loadWorkflow newsText parseJournal permissionPresets problemsText readRehearsal
      renderMermaid runJob runWorkflow runtimeVariables simplifyWork startJob startSession
      startTask takeSessionResponse teachingText validateEntry
    `;
    assert.deepEqual(Object.keys(library).sort(), expected.trim().split(/\s+/));
  });
});

async function bundled(code: string, resolveDir: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    logLevel: "silent",
  });
  return outputFiles.map(({ text }) => text).join("\n");
}

test("agent-jobs/entry brings neither the SDK nor ajv along", async (t) => {
  const { path } = await makeWorkspace(t);
  await installPackage(path);
  const code = `import * as entry from "agent-jobs/entry"; console.log(entry);`;
  const loaded = await bundled(code, path);
  assert.match(loaded, /YAMLParseError/);
  assert.doesNotMatch(loaded, /createMessageConnection|CopilotClient|no schema with key or ref/);
  const { stdout } = await run(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `const { validateEntry, generateChartNodes, renderMermaid } = await import("agent-jobs/entry");
       const entry = { models: { driving: "m" }, tasks: { t: { prompt: "p", model: { category: "driving" } } }, jobs: { j: { work: { kind: "Ref", taskId: "t" } } } };
       const prepared = validateEntry(entry, "");
       console.log(renderMermaid(generateChartNodes(prepared.jobs.j.work)).includes("t #35;0"));
       try { validateEntry({ ...entry, task: 1 }, ""); } catch (error) { console.log(error.diagnostics[0].hint); }`,
    ],
    { cwd: path, env: { PATH: process.env["PATH"], HOME: path } },
  );
  assert.equal(stdout, 'true\ndid you mean "tasks"?\n');
});

test("a program that is bundled as an ES module runs jobs, and says what is wrong with entries", async (t) => {
  const workspace = await makeWorkspace(t);
  await installPackage(workspace.path);
  const outfile = join(workspace.path, "program.mjs");
  await build({
    stdin: { contents: program, resolveDir: workspace.path },
    bundle: true,
    outfile,
    platform: "node",
    format: "esm",
    logLevel: "silent",
    nodePaths: [join(root, "node_modules")],
  });
  const { stdout } = await run(process.execPath, [outfile], {
    cwd: workspace.path,
    env: {
      PATH: process.env["PATH"],
      HOME: workspace.path,
      COPILOT_CLI_PATH: findRuntime({ environment: process.env }),
    },
  });
  assert.equal(stdout, '{"kind":"succeeded"} hello\nThere is no task "t".\n');
});

test("what is installed with the package is what the library and the command line import", async () => {
  const manifest: {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly exports: Readonly<Record<string, unknown>>;
  } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.deepEqual(Object.keys(manifest.exports), [
    ".",
    "./entry",
    "./testing",
    "./schema/*",
    "./package.json",
  ]);
  const { metafile } = await build({
    entryPoints: ["index.js", "entry/index.js", "cli/main.js"].map((file) => join(compiled, file)),
    bundle: true,
    write: false,
    outdir: "/",
    metafile: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "silent",
  });
  const imported = new Set(
    Object.values(metafile.inputs)
      .flatMap(({ imports }) => imports)
      .filter(({ external = false, path }) => external && !path.startsWith("node:"))
      .map(({ path }) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path),
  );
  assert.deepEqual([...imported].sort(), Object.keys(manifest.dependencies).sort());
});

test("the package has every file that its manifest and its README name, in less than 6 MB", async () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  // The page on npm takes pictures from the repository.
  const named =
    readme.match(/(?<=\(|[ "])(?:docs|entries|examples)\/[\w./-]+\.(?!png|svg)\w+/g) ?? [];
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await run("npm", args, { cwd: root });
  interface Packed {
    readonly path: string;
    readonly size: number;
  }
  const packed: Readonly<Record<string, { readonly files: readonly Packed[] }>> =
    JSON.parse(stdout);
  // The bundle that is tested may be newer than the committed one.
  const bundle = join(dist ?? join(root, "dist"), "cli");
  const files = new Map([
    ...Object.values(packed)
      .flatMap((one) => one.files)
      .filter(({ path }) => !path.startsWith("dist/cli/"))
      .map(({ path, size }) => [path, size] as const),
    ...readdirSync(bundle).map(
      (name) => [`dist/cli/${name}`, statSync(join(bundle, name)).size] as const,
    ),
  ]);
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const targets = [...manifest.matchAll(/: "(?:\.\/)?((?:build|dist)\/[\w./-]+\.(?:js|d\.ts))"/g)];
  assert.ok(targets.length >= 7);
  const missing = [...named, ...targets.map(([, file = ""]) => file)].filter(
    (file) => !files.has(file),
  );
  assert.deepEqual(missing, []);
  const size = [...files.values()].reduce((sum, one) => sum + one, 0);
  assert.ok(size < 6_000_000, `${size} bytes`);
});

test("every declaration that the library's declarations import is in the package", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
  });
  const missing = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    if (!stdout.includes(`"${file}"`)) missing.add(file);
    const text = readFileSync(join(root, file), "utf8");
    for (const [, name = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)\.[jt]s"/g))
      visit(`${join(dirname(file), name)}.d.ts`);
  };
  for (const name of ["index", "entry/index", "run/testing"]) visit(`build/src/${name}.d.ts`);
  assert.deepEqual([...missing], []);
});

test("the tarball that the runner downloads for `uses:` is smaller than 8 MB", async () => {
  const options = { cwd: root, encoding: "buffer", maxBuffer: 64_000_000 } as const;
  const { stdout } = await run("git", ["archive", "HEAD"], options);
  assert.ok(stdout.length < 8_000_000, `${stdout.length} bytes`);
});

const program = `
import { JobHost, DiagnosticsError } from "agent-jobs";
const entry = {
  models: { driving: "m" },
  tasks: { t: { prompt: "go", model: { category: "driving" } } },
  jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
};
const line = (value) => "data: " + JSON.stringify(value) + "\\n\\n";
const transport = {
  async send({ body }) {
    const { model } = JSON.parse(body);
    const chunk = (delta, finish_reason) => ({
      id: "1", object: "chat.completion.chunk", created: 1, model,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const text = line(chunk({ role: "assistant", content: "hello" }, null)) +
      line({ ...chunk({}, "stop"), usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }) +
      "data: [DONE]\\n\\n";
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  },
};
const host = new JobHost({ transport });
await host.installJobsEntry(entry);
const { outcome, works } = await host.runJob("j");
console.log(JSON.stringify(outcome), works[0].lastMessage);
try {
  await host.installJobsEntry({ ...entry, tasks: {} });
} catch (error) {
  console.log(error instanceof DiagnosticsError && error.diagnostics[0].reason);
}
`;
