import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { checkNames, loadEntry, readEntry, readRehearsal } from "../run/entry-files.ts";
import type { Rehearsal } from "../host/host-options.ts";
import { JobHost } from "../host/job-host.ts";
import { asFlag, UsageError } from "../run/options.ts";
import { checkRuntime, missingModel } from "../run/execute.ts";
import { reservedEnvNames } from "../run/variables.ts";
import { gitRoot } from "../run/workflow-files.ts";
import { environmentWarnings } from "../run/entry-options.ts";
import { diagnosticLine, DiagnosticsError } from "../document/diagnostic.ts";
import { onAbort } from "../platform/waiting.ts";
import { exampleEntry } from "../generated/example-entry.ts";
import type { PortalRehearsal } from "../reports/html/boot.ts";
import { JournalFolder } from "../reports/journals.ts";
import { isDirectory, removeDirectory } from "../platform/files.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import { systemClock } from "../platform/system-clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import { isLoopback, isToken, MIN_TOKEN } from "../host/security.ts";
import { type HttpServer, startServer } from "../host/server.ts";
import { telemetryReporter, telemetryTarget } from "../run/telemetry.ts";
import { readAccess } from "./access.ts";
import { findEntry, onlyEntry } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { plural } from "../text/numbers.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

type Given = OptionsOf<"serve">;

/** Jobs, sessions and the runtime end within fifteen seconds. */
const PATIENCE_MS = 20_000;

export async function serve(io: Io, named: string | undefined, asked: Given): Promise<ExitCode> {
  if (named !== undefined && asked.entry !== undefined)
    throw new UsageError("The entry is given twice. Omit --entry.");
  const given = { ...asked, entry: asked.entry ?? named };
  checkAccess(given);
  const signals = cancelFromTerminal(PATIENCE_MS);
  try {
    const server = await start(given, io);
    const { signal } = signals;
    onAbort(signal, () => void server.stop());
    onAbort(signals.lastCall, server.kill);
    announce(server, given, io);
    await server.ended;
    return exitCode.success;
  } finally {
    signals.dispose();
  }
}

function checkAccess({ token, host, allowedHost, test, entry, entriesDir }: Given): void {
  if (token !== undefined && !isToken(token)) {
    throw new UsageError(
      "--token or AGENT_JOBS_TOKEN must not be empty, and must consist of visible ASCII characters without spaces.",
    );
  }
  if (token === undefined && !isLoopback(host)) {
    throw new UsageError(
      `--host ${host} is not a loopback address, so other machines can reach the server. Set --token or AGENT_JOBS_TOKEN.`,
    );
  }
  // On loopback, only this machine can guess, unless there is a proxy.
  const isReachable = !isLoopback(host) || (allowedHost ?? []).length > 0;
  if (token !== undefined && isReachable && token.length < MIN_TOKEN)
    throw new UsageError(
      `--token or AGENT_JOBS_TOKEN has ${plural(token.length, "character")}. Other machines can reach the server, so it must have at least ${MIN_TOKEN}. To make one: openssl rand -hex 32`,
    );
  if (test === true && entry !== undefined)
    throw new UsageError("--test starts without an entry. Omit --entry.");
  if (test !== true && entriesDir !== undefined)
    throw new UsageError("--entries-dir requires --test.");
}

interface Served extends HttpServer {
  readonly kill: () => void;
  readonly serving: string;
}

async function start(given: Given, { output }: Io): Promise<Served> {
  const { entry, port, host: hostname, allowedHost, token, test, entriesDir, ...forRuns } = given;
  const access = readAccess(forRuns);
  checkRuntime(access, asFlag);
  const { rehearse, environment, env, otlp, ...options } = access;
  const target = telemetryTarget(environment, otlp);
  const rehearsal = rehearse === undefined ? undefined : await readRehearsal(rehearse);
  // The default folder may be created later.
  const entriesFolder =
    test === true ? ((await folder(entriesDir, "--entries-dir")) ?? resolve("test")) : undefined;
  const file =
    entry !== undefined
      ? (await findEntry(entry)).file
      : (rehearsal?.entryFile ?? (test === true ? undefined : await onlyEntry()));
  if (test !== true && file !== undefined) {
    const permissions = options.permissions ?? rehearsal?.permissions;
    const read = await readEntry(file, { environment: env, permissions });
    const unread = reservedEnvNames(read.entry, read.flows);
    for (const warning of [...read.warnings, ...environmentWarnings(env, environment, unread)])
      output.printError(diagnosticLine(warning));
    if (rehearsal !== undefined) checkNames(rehearsal, read);
  }
  const journals = await journalsFolder(options.journals);
  const feedsFolder = await makeRunFolder("feeds-");
  const host = new JobHost({
    ...options,
    // The token is masked like every secret of the environment.
    environment: { ...environment, AGENT_JOBS_TOKEN: token },
    feedsFolder: feedsFolder.path,
    ...(target && { reporters: [telemetryReporter(target, access)] }),
    env,
    rehearsal,
    journals,
  });
  const cleanUp = async (): Promise<void> => {
    await host.close();
    await removeDirectory(feedsFolder.path);
  };
  try {
    if (test !== true) await install(host, file);
    const server = await startServer({
      host,
      clock: systemClock,
      hostname,
      port,
      token,
      allowedHosts: allowedHost,
      repoRoot: gitRoot(process.cwd()) ?? process.cwd(),
      entriesFolder,
      journals: journals === undefined ? undefined : new JournalFolder(journals),
      rehearsal: rehearsal && factsOf(rehearsal),
    });
    const missing = missingModel(access, rehearsal !== undefined, asFlag);
    if (missing !== undefined) output.printError(`agent-jobs: warning: ${missing}`);
    const serving =
      entriesFolder !== undefined
        ? `No entry is installed. Clients install entries from ${entriesFolder}`
        : file !== undefined
          ? `Serving ${file}`
          : `Serving the example ${exampleEntry.file}. To serve your own entry: agent-jobs serve FILE`;
    return { ...server, serving, kill: () => host.kill(), ended: server.ended.then(cleanUp) };
  } catch (error) {
    await cleanUp();
    throw asUsageError(error, given);
  }
}

function factsOf({ file, job, userInput }: Rehearsal): PortalRehearsal {
  return { file, job, userInput };
}

async function install(host: JobHost, file: string | undefined): Promise<void> {
  if (file !== undefined) return host.installEntryFile(file);
  const loaded = loadEntry(exampleEntry.text, exampleEntry.file);
  if (loaded.kind === "rejected") throw new DiagnosticsError(loaded.diagnostics);
  await host.installJobsEntry(loaded.entry);
}

async function folder(path: string | undefined, option: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  if (!(await isDirectory(path)))
    throw new UsageError(`${option}: ${path} is not a folder, or does not exist.`);
  return resolve(path);
}

async function journalsFolder(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    await mkdir(path);
  } catch (error) {
    if (await isDirectory(path)) return resolve(path);
    throw new UsageError(`Can't make the folder ${path} of --journals: ${errorMessage(error)}.`);
  }
  return resolve(path);
}

function asUsageError(error: unknown, { host, port }: Given): unknown {
  if (!(error instanceof Error && "code" in error)) return error;
  switch (error.code) {
    case "EADDRINUSE":
      return new UsageError(`Port ${port} is in use. Choose another one with --port.`);
    case "EACCES":
      return new UsageError(`Can't listen on port ${port}: permission denied.`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new UsageError(`Can't listen on ${host}: this machine has no such address.`);
    default:
      return error;
  }
}

function announce({ url, serving }: Served, { token }: Given, { output }: Io): void {
  const lines = [
    serving,
    `The portal is at ${url}`,
    `The API is at ${url}api/`,
    ...(token === undefined
      ? []
      : [`Both require the token: open ${url}?token=TOKEN, or send it as the Bearer token`]),
  ];
  output.print(lines.join("\n"));
}
