/** `agent-jobs init`: the files of an example, for this repository, and rehearsed. It asks nothing. */
import { lstat, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { templates } from "../generated/templates.ts";
import { readDocument } from "../document/read-document.ts";
import { makeDirectory } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { asFlag, UsageError } from "../run/options.ts";
import { readProvider } from "../run/options-provider.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";
import { rehearse } from "./rehearse.ts";
import { isRecord, isText, parsedJson } from "../text/guards.ts";
import { runGit } from "../git/git.ts";

export async function init(io: Io, template: string, given: OptionsOf<"init">): Promise<ExitCode> {
  const { output } = io;
  const { workflow = false, providerBaseUrl: server } = given;
  if (server !== undefined) checkServer(server, workflow);
  const source = templates[template] ?? {};
  const root = await rootOf(process.cwd());
  const facts = await factsOf(root);
  const wanted = Object.entries(source).filter(
    ([path]) => workflow || !path.startsWith(".github/workflows/"),
  );
  const files = await Promise.all(
    wanted.map(async ([path, text]) => fileOf(root, path, onServer(filled(text, facts), server))),
  );
  const taken = files.filter(({ state }) => state === "taken").map(({ path }) => path);
  if (taken.length > 0 && given.force !== true) {
    const them = taken.length === 1 ? "it" : "them";
    throw new UsageError(
      `Nothing was written, because ${taken.join(", ")} would be overwritten. To overwrite ${them}, use --force.`,
    );
  }
  for (const file of files) {
    if (file.state !== "same") await write(file);
    output.print(`${file.state === "same" ? "unchanged" : "wrote    "} ${file.path}`);
  }
  if (facts.testCommand === undefined && files.some(({ path }) => path.endsWith("/test.sh")))
    output.print(
      "note      No test command was found. Write it to .github/agent-jobs/test.sh, which fails until then.",
    );
  if (facts.checks === undefined && files.some(({ text }) => text.includes("workflows: [CI]")))
    output.print(
      "note      No workflow for pull requests was found. Name yours in `workflows: [CI]`.",
    );
  const rehearsals = files.filter(({ path }) => path.includes(".rehearsal."));
  const shown = rehearsals.map(({ place }) => relative(process.cwd(), place));
  const code = await rehearse(io, shown, { workingDirectory: root });
  if (code !== exitCode.success) return code;
  const where = root === process.cwd() ? "" : `, in ${root}`;
  const run = files.flatMap(({ text }) => /^# +(npx agent-jobs run .*)$/m.exec(text)?.[1] ?? []);
  const last = workflow
    ? `git add .github && git commit -m "Add agent jobs: ${template}"`
    : `npx agent-jobs init ${template} --workflow`;
  output.print(`Next${where}:`);
  output.print("  npx agent-jobs rehearse");
  const [key, option] =
    server === undefined
      ? (["COPILOT_GITHUB_TOKEN", ""] as const)
      : (["AGENT_JOBS_PROVIDER_API_KEY", ` --provider-base-url ${server}`] as const);
  for (const command of run) output.print(`  ${key}=… ${command}${option}`);
  output.print(`  ${last}`);
  return code;
}

/** The examples are for a repository with the branch `main` that `npm test` tests. */
function filled(text: string, { branch, testCommand, install, checks }: Facts): string {
  const inYaml = (name: string): string => (/^[\w./-]+$/.test(name) ? name : JSON.stringify(name));
  const none = 'echo "There is no test command yet. Write it to $0." >&2\nexit 1';
  const guard = `run: "! grep 'There is no test command yet' .github/agent-jobs/test.sh"`;
  const steps = [...install, ...(testCommand === undefined ? [guard] : [])];
  return text
    .replaceAll("branches: [main]", () => `branches: [${inYaml(branch)}]`)
    .replaceAll("workflows: [CI]", () => `workflows: [${inYaml(checks ?? "CI")}]`)
    .replaceAll("--base main", () => `--base ${branch}`)
    .replace(/^npm test$/m, () => testCommand ?? none)
    .replace(/^( *)# Install here what the tests need\.\n/m, (comment, indent: string) =>
      [steps.length === 0 ? comment : "", ...steps.map((step) => `${indent}- ${step}\n`)].join(""),
    );
}

function checkServer(baseUrl: string, workflow: boolean): void {
  if (!workflow) throw new UsageError("--provider-base-url requires --workflow.");
  const [problem] = readProvider({ providerBaseUrl: baseUrl }, asFlag).problems;
  if (problem !== undefined) throw new UsageError(problem);
}

/** The workflow of an example, for models of one's own. Without an address, and in other files, nothing changes. */
function onServer(text: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined) return text;
  return text
    .replace(", copilot-requests: write", "")
    .replace(/^( *)entry: \.github\/agent-jobs\/\S+\.yml\n/m, (line, indent: string) =>
      [
        line,
        `${indent}provider-base-url: ${JSON.stringify(baseUrl)}\n`,
        `${indent}provider-api-key: \${{ secrets.MODELS_KEY }}\n`,
        `${indent}# Name its models here, one \`category=id\` per line: \`models: driving=…\`\n`,
      ].join(""),
    );
}

interface NewFile {
  readonly path: string;
  readonly place: string;
  readonly text: string;
  readonly state: "free" | "same" | "taken";
}

/** A link is in the way, wherever it leads. */
async function fileOf(root: string, path: string, text: string): Promise<NewFile> {
  const place = join(root, path);
  const found = await lstat(place).catch(() => undefined);
  if (found === undefined) return { path, place, text, state: "free" };
  const isSame = found.isFile() && (await readFile(place, "utf8").catch(() => "")) === text;
  return { path, place, text, state: isSame ? "same" : "taken" };
}

async function write({ path, place, text }: NewFile): Promise<void> {
  try {
    await makeDirectory(dirname(place));
    await rm(place, { force: true });
    await writeFile(place, text, { flag: "wx" });
  } catch (error) {
    throw new UsageError(`${path} can't be written: ${errorMessage(error)}.`);
  }
}

export interface Facts {
  readonly branch: string;
  readonly testCommand: string | undefined;
  /** The workflow that checks pull requests. */
  readonly checks: string | undefined;
  /** The steps of a workflow that install what the tests need, each on a line of YAML. */
  readonly install: readonly string[];
}

/** Throws a `UsageError` outside of a repository. */
async function rootOf(folder: string): Promise<string> {
  try {
    return (await git(folder, "rev-parse", "--show-toplevel")).trim();
  } catch (error) {
    throw new UsageError(
      `This folder is not in a git repository. Create one with git init. (${errorMessage(error).split("\n", 1)[0]})`,
    );
  }
}

export async function factsOf(root: string): Promise<Facts> {
  const read: Read = (name) => readFile(join(root, name), "utf8").catch(() => undefined);
  const testCommand = await testCommandOf(root, read);
  const [branch, checks] = [await branchOf(root), await checksOf(root, read)];
  return { branch, testCommand, checks, install: await installOf(read, testCommand) };
}

/** The name of the workflow that tests pull requests, rather than of another one for them. */
async function checksOf(root: string, read: Read): Promise<string | undefined> {
  const folder = ".github/workflows";
  const files = await readdir(join(root, folder)).catch(() => []);
  const found: string[] = [];
  for (const file of files.filter((name) => /^(?!agent-).*\.ya?ml$/.test(name)).sort()) {
    const source = (await read(`${folder}/${file}`)) ?? "";
    const document = readDocument(source, { file, format: "yaml" });
    const { on, name } = document.kind === "read" ? valuesOf(document.value) : {};
    const events = isRecord(on) ? Object.keys(on) : [on].flat();
    if (events.includes("pull_request")) found.push(isText(name) ? name : `${folder}/${file}`);
  }
  return found.find((name) => /\b(?:ci|tests?|checks?|build)\b/i.test(name)) ?? found[0];
}

function valuesOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Takes the remote's default branch, else `main` or `master`, else the branch that is checked out. */
async function branchOf(root: string): Promise<string> {
  const ask = async (...args: string[]): Promise<string> =>
    (await git(root, ...args).catch(() => "")).trim();
  const remote = await ask("symbolic-ref", "--short", "refs/remotes/origin/HEAD");
  if (remote.startsWith("origin/")) return remote.slice("origin/".length);
  const usual = await ask(
    "for-each-ref",
    "--format=%(refname:short)",
    "refs/heads/main",
    "refs/heads/master",
  );
  return usual.split("\n", 1)[0] || (await ask("symbolic-ref", "--short", "HEAD")) || "main";
}

const PYTEST = "python -m pytest";

/** The first that is there, with something in it that says that there are tests. */
const testCommands: readonly (readonly [file: string, sign: RegExp, command: string])[] = [
  ["Makefile", /^test:/m, "make test"],
  ["Cargo.toml", /^/, "cargo test"],
  ["go.mod", /^/, "go test ./..."],
  ["tox.ini", /^/, "tox"],
  ["uv.lock", /"pytest"/, "uv run pytest"],
  ["poetry.lock", /"pytest"/, "poetry run pytest"],
  ["pytest.ini", /^/, PYTEST],
  ["pyproject.toml", /pytest/, PYTEST],
  ["setup.cfg", /pytest/, PYTEST],
  ["requirements.txt", /^pytest\b/m, PYTEST],
  ["requirements-dev.txt", /^pytest\b/m, PYTEST],
  ["mvnw", /^/, "./mvnw --batch-mode test"],
  ["pom.xml", /^/, "mvn --batch-mode test"],
  ["gradlew", /^/, "./gradlew test"],
  ["mix.exs", /^/, "mix test"],
];

const packageManagers = [
  ["pnpm-lock.yaml", "pnpm test"],
  ["yarn.lock", "yarn test"],
  ["bun.lock", "bun run test"],
  ["bun.lockb", "bun run test"],
] as const;

type Read = (name: string) => Promise<string | undefined>;

const LOCKED = "install --frozen-lockfile";
const PIP = "python -m pip install pytest";

/** The first one of each language counts. A lock is never changed: the job would propose the change. */
const installs: readonly (readonly [language: string, file: string, run: string, sign?: RegExp])[] =
  [
    ["node", "pnpm-lock.yaml", `corepack enable && pnpm ${LOCKED}`],
    ["node", "yarn.lock", `corepack enable && yarn ${LOCKED}`],
    ["node", "bun.lock", `npm install --global bun && bun ${LOCKED}`],
    ["node", "bun.lockb", `npm install --global bun && bun ${LOCKED}`],
    ["node", "package-lock.json", "npm ci"],
    [
      "node",
      "package.json",
      "npm install --no-package-lock",
      /"(?:dev)?dependencies"\s*:\s*\{\s*"/i,
    ],
    ["python", "uv.lock", "pipx install uv && uv sync"],
    ["python", "poetry.lock", "pipx install poetry && poetry install"],
    ["python", "requirements-dev.txt", `${PIP} -r requirements-dev.txt`],
    ["python", "requirements.txt", `${PIP} -r requirements.txt`],
    ["python", "pyproject.toml", `${PIP} -e .`, /^\[(?:project|build-system)\]/m],
    ["rust", "Cargo.toml", "cargo fetch"],
    ["go", "go.mod", "go mod download"],
    ["elixir", "mix.exs", "mix deps.get"],
  ];

async function installOf(read: Read, testCommand: string | undefined): Promise<string[]> {
  const found = new Map<string, string>();
  for (const [language, file, run, sign = /^/] of installs)
    if (!found.has(language) && (await has(read, file, sign))) found.set(language, run);
  if (testCommand === PYTEST && !found.has("python")) found.set("python", PIP);
  if (testCommand === "tox") found.set("python", "python -m pip install tox");
  const steps = [...found.values()].map((run) => `run: ${run}`);
  if (found.get("python")?.startsWith("python") !== true) return steps;
  return ['uses: actions/setup-python@v6\n        with: { python-version: "3.x" }', ...steps];
}

async function has(read: Read, file: string, sign: RegExp): Promise<boolean> {
  const text = await read(file);
  return text !== undefined && sign.test(text);
}

/** A script that `npm init` wrote, or that can't fail, is no test. */
const noTest = /no test specified|^\s*(?:(?:echo\b[^&|;]*|true|:|exit 0)\s*)?$/;

async function testCommandOf(root: string, read: Read): Promise<string | undefined> {
  const manifest = parsedJson((await read("package.json")) ?? "");
  const scripts = isRecord(manifest) ? manifest["scripts"] : undefined;
  const script = isRecord(scripts) ? scripts["test"] : undefined;
  if (isText(script) && !noTest.test(script)) {
    for (const [lock, command] of packageManagers)
      if ((await read(lock)) !== undefined) return command;
    return "npm test";
  }
  for (const [file, sign, command] of testCommands) if (await has(read, file, sign)) return command;
  const files = await Promise.all(
    [".", "test", "tests"].map((folder) => readdir(join(root, folder)).catch(() => [])),
  );
  const isPython = files.flat().some((name) => /^test_.*\.py$|_test\.py$/.test(name));
  return isPython ? PYTEST : undefined;
}

function git(cwd: string, ...args: string[]): Promise<string> {
  return runGit(args, { cwd, environment: process.env });
}
