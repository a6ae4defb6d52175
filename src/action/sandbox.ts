/**
 * Makes the sandbox work on a hosted Linux runner. Never throws: tasks that need a sandbox are refused then. The profile
 * replaces that of Ubuntu 25.04, in which a sandbox can't start another, as the runtime does for its commands.
 */
import { secondsText } from "../text/numbers.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { childEnvironment } from "../platform/environment.ts";
import { runToEnd } from "../platform/programs.ts";
import { findBubblewrap, sandboxSupport } from "../sandbox/sandbox.ts";
import type { Setting } from "./setting.ts";

const profile = `abi <abi/4.0>,
include <tunables/global>
profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
}
`;

const install = "apt-get install --yes --no-install-recommends bubblewrap";

/** In the order in which they are tried: the narrowest first. */
const fixes = [
  {
    what: ["installed", "bubblewrap"],
    command: ["sh", "-c", `${install} || { apt-get update && ${install}; }`],
    input: "",
    installs: true,
  },
  {
    what: ["loaded", "an AppArmor profile that lets bubblewrap create user namespaces"],
    command: ["apparmor_parser", "--replace"],
    input: profile,
    installs: false,
  },
  {
    what: ["lifted", "AppArmor's restriction of user namespaces"],
    command: ["sysctl", "--write", "kernel.apparmor_restrict_unprivileged_userns=0"],
    input: "",
    installs: false,
  },
] as const;

const longestMs = 120_000;

export async function setUpSandbox({ environment, say, signal }: Setting): Promise<void> {
  if (process.platform !== "linux" || environment["RUNNER_ENVIRONMENT"] !== "github-hosted") return;
  const limit = startTimeLimit(systemClock, longestMs, signal);
  const start = systemClock.now();
  const done: string[] = [];
  let support = await sandboxSupport(environment);
  for (const { what, command, input, installs } of fixes) {
    if (support.kind === "bubblewrap") break;
    if (installs !== (findBubblewrap(environment) === undefined)) continue;
    const ended = await runToEnd("sudo", ["-n", ...command], {
      cwd: "/",
      env: { ...childEnvironment(environment), DEBIAN_FRONTEND: "noninteractive" },
      input,
      signal: limit.signal,
    });
    const [why = ""] =
      ended.kind === "exited"
        ? ended.stderr.trim().split("\n").slice(-1)
        : [ended.kind === "not-started" ? "there is no sudo" : "it took too long"];
    const [verb, object] = what;
    const isDone = ended.kind === "exited" && ended.code === 0;
    done.push(isDone ? `${verb} ${object}` : `${object} could not be ${verb} (${why})`);
    support = await sandboxSupport(environment);
  }
  limit.end();
  if (done.length === 0) return;
  const took = secondsText(systemClock.now() - start);
  const result = support.kind === "bubblewrap" ? "The sandbox works." : "The sandbox doesn't work.";
  say(`Sandbox: ${done.join("; ")} (${took}). ${result}`);
}
