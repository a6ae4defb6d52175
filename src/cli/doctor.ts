import { NO_CALLS } from "../engine/criteria.ts";
import type { Entry, Task } from "../entry/model.ts";
import { withAdvice } from "../events/crash.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import type { ModelUsed } from "../events/session-activity.ts";
import type { Reporter } from "../events/sink.ts";
import { plural, secondsText } from "../text/numbers.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { childEnvironment } from "../platform/environment.ts";
import { removeDirectory } from "../platform/files.ts";
import { runToEnd } from "../platform/programs.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import { programSandbox, sandboxSupport } from "../sandbox/sandbox.ts";
import { findProgram } from "../platform/search-path.ts";
import { errorMessage } from "../platform/system-error.ts";
import { findRuntime } from "../runtime/find-runtime.ts";
import { JobHost } from "../host/job-host.ts";
import { asFlag } from "../run/options.ts";
import type { ModelAccess } from "../run/options-provider.ts";
import { contextOf, whyNoneListed } from "../run/offered-models.ts";
import { missingModel } from "../run/execute.ts";
import { readAccess } from "./access.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export async function doctor(
  { output }: Io,
  { json, format, model, ...server }: OptionsOf<"doctor">,
): Promise<ExitCode> {
  const checks = await checkMachine(readAccess(server), model);
  if (json === true || format === "json") output.printJson({ checks });
  else {
    const lines = checks.map(({ name, ok, text }) => `${ok ? "ok    " : "FAIL  "}${name}: ${text}`);
    output.print(lines.join("\n"));
  }
  return checks.every(({ ok }) => ok) ? exitCode.success : exitCode.failed;
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** The finding, or the problem and how to fix it. */
  readonly text: string;
}

type Found = Omit<Check, "name">;

const patienceMs = 10_000;

function checkMachine(access: ModelAccess, model?: string): Promise<readonly Check[]> {
  const { environment } = access;
  const checks = {
    // `scripts/launcher.js` has already refused older versions.
    Node: async () => there(process.versions.node),
    "Copilot runtime": () => runtime(access),
    Sandbox: () => sandbox(environment),
    Models: () => models(access),
    ...(model !== undefined && { Model: () => askModel(model, access) }),
    Git: async () => {
      const path = findProgram("git", environment);
      return path === undefined ? missing("It is not in PATH. Install it.") : there(path);
    },
  };
  return Promise.all(
    Object.entries(checks).map(async ([name, check]) => ({
      name,
      ...(await check().catch((error: unknown) => missing(errorMessage(error)))),
    })),
  );
}

const there = (text: string): Found => ({ ok: true, text });
const missing = (text: string): Found => ({ ok: false, text });

async function runtime({ environment, runtimePath }: ModelAccess): Promise<Found> {
  const path = findRuntime({ environment, runtimePath, pathOption: asFlag("runtime-path") });
  // The runtime has no argument without an effect. It rejects this one and exits.
  const problem = await problemOf(path, ["--version"], environment);
  if (problem === undefined) return there(path);
  return missing(`${path} can't be started: ${problem}. Install it again with \`npm ci\`.`);
}

async function sandbox(environment: ModelAccess["environment"]): Promise<Found> {
  const support = await sandboxSupport(environment);
  if (support.kind === "none") {
    const { reason, advice } = support;
    return missing(
      `${reason}. ${advice}, or accept that commands can do whatever this user can: \`sandbox: off\` in the permissions.`,
    );
  }
  const { path: bubblewrap } = support;
  const folder = await makeRunFolder("doctor-", undefined);
  try {
    const network = { allowed: ["localhost"], denied: [] };
    const masks = { fixed: [], hidden: [], repositories: [] };
    const lists = { readable: [], writable: [], creatable: [], ...masks };
    const profile = { files: "granted", ...lists, network } as const;
    const made = await programSandbox({ bubblewrap, profile, environment, folder: folder.path });
    const problem = await problemOf(made.enter, ["/bin/sh", "-c", ":"], environment);
    made.close();
    if (problem === undefined) return there(bubblewrap);
    return missing(`Programs can't reach the hosts of \`permissions.hosts\`: ${problem}`);
  } finally {
    await removeDirectory(folder.path).catch(() => undefined);
  }
}

async function models(access: ModelAccess): Promise<Found> {
  const none = missingModel(access, false, asFlag);
  if (none !== undefined) return missing(none);
  const { provider } = access;
  const source = provider === undefined ? "GitHub Copilot" : new URL(provider.baseUrl).host;
  await using host = new JobHost(access);
  const offered = await host.live.listModels();
  if (offered.length > 0) return there(`${source} lists ${plural(offered.length, "model")}`);
  return missing(await whyNoneListed(access));
}

/** Runs a task that has one tool, so that failures read as those of a run. */
async function askModel(id: string, access: ModelAccess): Promise<Found> {
  const none = missingModel(access, false, asFlag);
  if (none !== undefined) return missing(none);
  let used: ModelUsed | undefined;
  const reporter: Reporter = {
    report(event) {
      if (event.type === "activity" && event.activity.kind === "model.used")
        used ??= event.activity;
    },
  };
  await using host = new JobHost({ ...access, limits: { jobMinutes: 10 }, reporters: [reporter] });
  await host.installJobsEntry(question(id));
  const { outcome, works } = await host.runJob("ask");
  const context = (await contextOf(access, id))?.toLocaleString("en-US");
  const size = context === undefined ? "context unknown" : `context of ${context} tokens`;
  const facts = used === undefined ? size : `${speedOf(used)}, ${size}`;
  if (outcome.kind === "succeeded") return there(`${id} calls tools (${facts})`);
  const { status, reason = outcome.reason, advice = "", lastMessage = "" } = works[0] ?? {};
  if (status !== "failed") return missing(withAdvice(`${id}: ${reason}`, advice));
  const said = `It answered ${JSON.stringify(truncateUnredacted(lastMessage, 200, "…"))} (${facts}).`;
  const rest = reason.endsWith(NO_CALLS) ? said : `${said} ${NO_CALLS}.`;
  return missing(withAdvice(`${id}: ${reason}`, rest));
}

/** The runtime's own prompt and tools would take a slow server a minute to read. */
function question(id: string): Entry {
  const ask: Task = {
    model: { category: "driving" },
    system: { prompt: ["You answer by calling tools."], mode: "replace" },
    prompt: ["Call the tool job_report: its `markdown` is a list of the four seasons."],
    permissions: { preset: "read-only", tools: ["!view", "!grep", "!rg", "!glob"] },
    criteria: { toolExecuted: ["job_report"], failureAction: { retryTimes: 0 } },
  };
  const work = { kind: "Ref", taskId: "ask" } as const;
  return { models: { driving: id }, tasks: { ask }, jobs: { ask: { work } } };
}

function speedOf({ durationMs, firstTokenMs = 0, outputTokens }: ModelUsed): string {
  const speed = (outputTokens * 1_000) / Math.max(durationMs - firstTokenMs, 1);
  return `first token after ${secondsText(firstTokenMs)}, ${speed.toFixed(1)} tokens per second`;
}

async function problemOf(
  path: string,
  args: readonly string[],
  environment: ModelAccess["environment"],
): Promise<string | undefined> {
  const env = childEnvironment(environment);
  const { signal, end } = startTimeLimit(systemClock, patienceMs);
  const ended = await runToEnd(path, args, { cwd: "/", env, signal });
  end();
  switch (ended.kind) {
    case "exited":
      // Shells and the dynamic linker report with these codes that a program was not started.
      return ended.code < 125 ? undefined : ended.stderr.trim();
    case "not-started":
      return ended.reason;
    case "killed":
    case "aborted":
      return `it did not exit within ${patienceMs / 1000} s`;
  }
}
