/**
 * The failures: how each is made to happen, and what kind of failure the documents say it is. What follows
 * from the kind, at which moment, is in `rules.ts`; nothing here is copied from what was observed.
 */
import { bash } from "../rig/model-server.ts";
import {
  moments,
  atModel,
  inTurns,
  shortIdle,
  shortTurn,
  longerTurn,
  modelCalls,
  atOnce,
  status,
  broken,
  hang,
  flood,
  canceledInIt,
  crashing,
  harmless,
  calls,
  command,
  server,
  execute,
  type Crashing,
  type Effect,
  type Failure,
} from "./failure.ts";

/** The turn runs into its deadline: while a tool runs, silence is no sign of a hang. */
const turnDeadline: Crashing = {
  cause: "deadline",
  remedy: "retry",
  limit: "turnMinutes",
  seconds: shortTurn.turnMinutes * 60,
};
const endless = {
  effect: { kind: "crash", first: turnDeadline },
  limits: shortTurn,
} as const satisfies Partial<Failure>;

/** Until the next prompt is due, whatever goes on in the background. */
const background = {
  ...harmless(shortIdle.idleMinutes * 60),
  limits: shortIdle,
} as const satisfies Partial<Failure>;

const again = { name: "job_prepare_document", arguments: { argument: "again" } };
const unreachable: Crashing = { cause: "unreachable", remedy: "retry", seconds: 24 };
/** Nobody waits for a server that has never answered. */
const absent: Crashing = { cause: "unreachable", remedy: "give-up", seconds: 5 };

const died: Crashing = { cause: "runtime-died", remedy: "retry", died: true, seconds: 1 };
const notStarted: Crashing = { cause: "start-failed", remedy: "retry", seconds: 1 };
/** No retry finds a runtime that is not there (statement 6). */
const notThere: Crashing = { cause: "not-installed", remedy: "give-up", seconds: 1 };
const startDeadline: Crashing = { cause: "start-failed", remedy: "retry", seconds: 25 };

/** The runtime dies, and the one that would replace it can't be had. */
function replaced(
  commands: string,
  next: Crashing,
  effectAtStart: Effect,
): Pick<Failure, "moments" | "effect" | "effectAt" | "commands" | "before" | "only"> {
  return {
    moments: ["starting", ...inTurns],
    effect: { kind: "crash", first: died, next },
    effectAt: { starting: effectAtStart },
    commands: `${commands}; kill -KILL $RUNTIME`,
    before: commands,
    only: "lasting",
  };
}

const advice = /--runtime-path/;
const everywhere = moments;
const replaceBy = (content: string): string =>
  `rm -f "$RUNTIME_FILE"; printf '${content}' > "$RUNTIME_FILE"; chmod 755 "$RUNTIME_FILE"`;

export const failures: readonly Failure[] = [
  { name: "400", ...status(400, "give-up", 1) },
  { name: "401", ...status(401, "give-up", 3) },
  { name: "403", ...status(403, "give-up", 1) },
  { name: "404", ...status(404, "give-up", 1) },
  { name: "413", ...status(413, "give-up", 6) },
  // One that lasts is waited for as long as the task may take.
  {
    name: "429, no retry-after",
    ...status(429, "retry-uncounted", 61),
    slow: true,
    fullOnly: true,
    only: "passing",
  },
  {
    name: "429, no retry-after, told not to retry",
    ...status(429, "retry-uncounted", 1, { headers: atOnce }),
    only: "passing",
  },
  {
    name: "429, retry-after 1 s",
    ...status(429, "retry-uncounted", 10, { headers: { "retry-after": "1" } }),
    only: "passing",
  },
  {
    name: "429, retry-after 1 h",
    ...status(429, "retry-uncounted", 1, { headers: { "retry-after": "3600" } }),
    only: "passing",
  },
  { name: "500", ...status(500, "retry-later", 15), slow: true, fullOnly: true },
  { name: "500, told not to retry", ...status(500, "retry-later", 1, { headers: atOnce }) },
  { name: "503", ...status(503, "retry-later", 15), slow: true, fullOnly: true },
  { name: "503, told not to retry", ...status(503, "retry-later", 1, { headers: atOnce }) },
  {
    name: "connection refused",
    moments: atModel,
    effect: { kind: "crash", first: unreachable },
    effectAt: { availability: { kind: "crash", first: absent } },
    model: { kind: "refuse" },
    neverInPar: "the port is closed for the siblings too",
    slow: true,
  },
  {
    name: "DNS failure",
    moments: ["availability"],
    effect: { kind: "crash", first: absent },
    baseUrl: "http://chaos.invalid/v1",
    only: "lasting",
    neverInPar: "the siblings ask the same server",
    slow: true,
  },
  { name: "connection reset", ...broken(6, { reset: true }) },
  { name: "hang before the headers", ...hang({ hang: "before" }) },
  { name: "hang in mid-stream", ...hang({ hang: "mid", text: "a b c d e f g h" }) },
  { name: "endless keep-alive comments", ...hang({ hang: "keep-alive" }) },
  {
    name: "malformed JSON",
    ...broken(6, {
      raw: 'data: {"id":"x","object":"chat.completion.chunk","choices":[{"delta":\n\n',
      headers: { "content-type": "text/event-stream" },
    }),
  },
  {
    name: "HTML with status 200",
    ...broken(6, {
      raw: "<!doctype html><html><body>Sign in to the network</body></html>",
      headers: { "content-type": "text/html" },
    }),
  },
  { name: "cut stream", ...broken(6, { cut: true, text: "a b c d e f g h" }) },
  { name: "an endless answer, as fast as it is taken", ...flood(2, { chunk: 64 * 1024 }) },
  { name: "endless reasoning", fullOnly: true, ...flood(2, { of: "reasoning", chunk: 64 * 1024 }) },
  {
    name: "endless arguments of a tool",
    fullOnly: true,
    ...flood(2, { of: "arguments", chunk: 64 * 1024 }),
  },
  { name: "an answer in pieces of 20 MB", ...flood(3, { chunk: 20e6 }), fullOnly: true },
  {
    name: "an endless answer in tiny pieces",
    ...crashing(turnDeadline, { flood: { chunk: 1 } }),
    limits: shortTurn,
    fullOnly: true,
  },
  {
    name: "SIGTERM in an endless answer",
    ...canceledInIt,
    moments: inTurns,
    model: { kind: "reply", reply: { flood: { chunk: 8, bytesPerSecond: 500_000 } } },
    only: "passing",
  },
  {
    name: "redirect loop",
    ...crashing(
      { cause: "redirect", remedy: "give-up", seconds: 1 },
      { status: 307, headers: { location: "?again" }, raw: "" },
    ),
    only: "lasting",
  },
  {
    name: "the clock is set an hour forward",
    moments: atModel,
    only: "passing",
    effect: { kind: "harmless" },
    jump: 3_600_000,
  },
  {
    name: "the clock is set an hour back, and the model hangs",
    ...hang({ hang: "before" }),
    jump: -3_600_000,
  },
  {
    // Statement 3: a last answer of nothing is a crash, also after a tool call.
    name: "empty answer",
    ...crashing({ cause: "empty-answer", remedy: "retry", seconds: 1 }, { text: "" }),
  },
  {
    name: "content filter",
    ...crashing(
      { cause: "filtered", remedy: "retry", seconds: 1 },
      { text: "", finishReason: "content_filter" },
    ),
  },
  {
    name: "endless tool calls, turnMinutes",
    moments: inTurns,
    effect: { kind: "crash", first: turnDeadline },
    model: { kind: "endless", call: again },
    limits: { ...shortTurn, modelCalls: 10_000 },
    fullOnly: true,
  },
  {
    name: "endless tool calls, modelCalls",
    moments: inTurns,
    effect: { kind: "task-limit", limit: "modelCalls", seconds: 5 },
    model: { kind: "endless", call: again },
    limits: { modelCalls },
    only: "lasting",
  },
  {
    name: "tool call with invalid arguments",
    ...calls({ name: "view", arguments: '{"path": ' }, { name: "bash", arguments: { command: 5 } }),
  },
  { name: "tool call with an unknown tool", ...calls({ name: "no_such_tool", arguments: {} }) },
  { name: "a command fails", ...calls(bash("echo no >&2; exit 3")) },
  {
    name: "a command hangs",
    ...endless,
    moments: inTurns,
    model: { kind: "calls", calls: [bash("sleep 900")] },
  },
  {
    name: "a command prints 60 MB",
    ...calls(bash("head -c 60000000 /dev/zero | tr '\\0' x")),
    ...harmless(8),
  },
  {
    name: "a tool of the entry floods its log",
    ...command("yes >&2", { timeoutSeconds: 2 }),
    ...harmless(4),
  },
  {
    name: "a tool of the entry hangs",
    ...command("trap '' TERM; sleep 900 & sleep 900; sleep 900", { timeoutSeconds: 1 }),
    ...harmless(4),
  },
  { name: "a tool of the entry is killed", ...command("kill -KILL $$") },
  {
    name: "a tool of the entry returns 60 MB",
    ...command("head -c 60000000 /dev/zero | tr '\\0' x"),
    fullOnly: true,
  },
  {
    name: "a tool of the entry returns 9 MB of JSON",
    ...command("printf '['; yes '[],[],[],[],' | head -c 9000000; printf '0]'"),
    ...harmless(4),
    // Three million values, which are parsed and written at once.
    blocks: 4_000,
  },
  {
    name: "SIGTERM while a tool of the entry floods its log",
    ...command("yes >&2"),
    ...canceledInIt,
  },
  {
    name: "an optional MCP server dies at its start",
    ...server("exits", { required: false }),
    serverFails: true,
  },
  {
    name: "an optional MCP server hangs at its start",
    ...server("hangs", { required: false, startSeconds: 15 }),
    ...harmless(15),
    serverFails: true,
    slow: true,
    fullOnly: true,
  },
  { name: "an MCP server dies in a call", ...server("dies") },
  {
    name: "an MCP server hangs in a call",
    ...server("silent"),
    ...endless,
    moments: ["prompt"],
  },
  {
    name: "an MCP server floods with progress",
    ...server("progress"),
    ...endless,
    moments: ["prompt"],
    // The client of MCP reads all messages of a piece at once.
    blocks: 400,
  },
  { name: "an MCP server returns 20 MB", ...server("big"), fullOnly: true },
  {
    name: "an MCP server hangs at the end",
    ...server("stubborn"),
    ...harmless(3),
  },
  {
    name: "SIGTERM while an MCP server floods",
    ...server("progress"),
    ...canceledInIt,
    blocks: 400,
  },
  {
    name: "EXECUTE hangs",
    ...execute("trap '' TERM; sleep 900 & sleep 900; sleep 900", 6),
  },
  { name: "EXECUTE floods", ...execute("yes", 6) },
  { name: "EXECUTE is killed", ...execute("kill -KILL $$", 1), fullOnly: true },
  {
    name: "SIGTERM while EXECUTE floods",
    ...execute("yes", 1),
    ...canceledInIt,
  },
  {
    name: "a shell command goes on in the background",
    ...calls(bash("sleep 900", { mode: "async" })),
    ...background,
  },
  {
    name: "a shell command goes on, detached",
    ...calls(
      bash("sleep 900", { mode: "async", detach: true }),
      bash("setsid sh -c 'trap \"\" TERM HUP; sleep 900' >/dev/null 2>&1 </dev/null & echo"),
    ),
    ...background,
  },
  {
    name: "a shell command goes on with nohup",
    ...calls(bash("nohup sleep 900 >/dev/null 2>&1 & echo $!")),
    ...background,
  },
  {
    name: "runtime killed",
    moments: everywhere,
    effect: { kind: "crash", first: died },
    effectAt: {
      starting: { kind: "crash", first: notStarted },
      creating: { kind: "crash", first: died },
      stopping: { kind: "harmless", died: true },
    },
    commands: "kill -KILL $RUNTIME",
    onceInPar: true,
  },
  {
    name: "runtime stopped while a session opens",
    moments: ["creating"],
    // It is ended for it, which costs no attempt: a lasting one would end with the limit of the task.
    only: "passing",
    effect: {
      kind: "crash",
      first: { cause: "runtime-died", remedy: "retry-uncounted", died: true, seconds: 40 },
    },
    commands: "kill -STOP $RUNTIME",
    slow: true,
    onceInPar: true,
  },
  {
    name: "runtime stopped",
    moments: everywhere.filter((moment) => moment !== "creating"),
    effect: {
      kind: "crash",
      first: {
        cause: "deadline",
        remedy: "retry",
        limit: "idleMinutes",
        // It does not answer when the session is closed, and is replaced then.
        died: "ended",
        seconds: shortIdle.idleMinutes * 60 + 20,
      },
    },
    effectAt: {
      starting: { kind: "crash", first: startDeadline },
      tool: {
        kind: "crash",
        first: { ...turnDeadline, died: "ended", seconds: longerTurn.turnMinutes * 60 + 20 },
      },
      stopping: { kind: "harmless", died: "ended", seconds: 10 },
    },
    commands: "kill -STOP $RUNTIME",
    slow: true,
    onceInPar: true,
    // Far apart, so that it is clear which one is exceeded first.
    limits: { ...shortIdle, ...longerTurn },
  },
  {
    name: "runtime missing",
    ...replaced('rm -f "$RUNTIME_FILE"', notThere, { kind: "refused", advice }),
  },
  {
    name: "runtime not executable",
    ...replaced('rm -f "$RUNTIME_FILE"; printf x > "$RUNTIME_FILE"', notThere, {
      kind: "refused",
      advice,
    }),
  },
  {
    name: "runtime mute",
    ...replaced(replaceBy("#!/bin/sh\\nexec sleep 900\\n"), startDeadline, {
      kind: "crash",
      first: startDeadline,
    }),
    slow: true,
  },
  {
    name: "SIGINT",
    moments: everywhere,
    effect: { kind: "cancel", signal: "SIGINT" },
    commands: "kill -INT $SELF",
    only: "passing",
  },
  {
    name: "SIGTERM",
    moments: everywhere,
    effect: { kind: "cancel", signal: "SIGTERM" },
    commands: "kill -TERM $SELF",
    only: "passing",
  },
  {
    name: "SIGKILL",
    moments: everywhere,
    effect: { kind: "killed" },
    commands: "kill -KILL $SELF",
    only: "passing",
    leaves: "own-death",
  },
  {
    name: "disk full for the journal",
    moments: everywhere,
    effect: { kind: "unwritten" },
    commands: 'prlimit --pid $SELF --fsize=$(stat -c %s "$JOURNAL")',
    only: "lasting",
  },
  {
    name: "working directory disappears",
    moments: everywhere,
    effect: { kind: "harmless" },
    commands: 'rm -rf "$WORK"',
    before: 'rm -rf "$WORK"',
    effectAt: {
      starting: { kind: "refused", advice: /working directory|folder/ },
    },
    only: "lasting",
  },
];
