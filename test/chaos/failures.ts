/**
 * The failures: how each is made to happen, and what kind of failure the documents say it is. What follows
 * from the kind, at which moment, is in `rules.ts`; nothing here is copied from what was observed.
 */
import type { Crash } from "../../src/events/crash.ts";
import type { Reply, ScriptedCall } from "../rig/model-server.ts";

export const moments = [
  "starting",
  "creating",
  "availability",
  "prompt",
  "tool",
  "criteria",
  "retry",
  "stopping",
] as const;
export type Moment = (typeof moments)[number];

/** Moments that are requests of a model: one for each mission, and the one after a tool call. */
const atModel = ["availability", "prompt", "tool", "criteria", "retry"] as const;
/** One turn of each mission. */
const inTurns = ["availability", "prompt", "criteria", "retry"] as const;

/** A crash as `docs/engine.md` sees it (statements 3 and 6). */
export interface Crashing {
  readonly kind: Crash["kind"];
  readonly status?: number;
  /** Statement 6: what retrying can't fix; what the server has too much of; what it can. */
  readonly remedy: "give-up" | "retry-later" | "retry";
  readonly limit?: "idleMinutes" | "turnMinutes";
  /** The runtime is gone: another one is started. */
  readonly died?: boolean;
  /** How long one try takes until it is over (facts of the runtime; generous ones of a machine). */
  readonly seconds: number;
}

export type Effect =
  | { readonly kind: "crash"; readonly first: Crashing; readonly next?: Crashing }
  /** The model is told, or nobody needs to be: the task goes on as if nothing had happened. */
  | { readonly kind: "harmless"; readonly seconds?: number; readonly died?: true }
  /** A limit of the task: it fails, without a retry. */
  | { readonly kind: "task-limit"; readonly limit: "modelCalls"; readonly seconds: number }
  /** Statement 19. */
  | { readonly kind: "cancel"; readonly signal: "SIGINT" | "SIGTERM" }
  /** Our own process dies at once. */
  | { readonly kind: "killed" }
  /** Nothing is begun: exit code 2 and a word about what to do. */
  | { readonly kind: "refused"; readonly advice: RegExp }
  /** The job goes on to its end, and what could not be written is told. */
  | { readonly kind: "unwritten" };

/** What the scripted server does instead of its answer at the moment of the failure. */
export type ModelFault =
  | { readonly kind: "reply"; readonly reply: Reply }
  /** The port is closed from this request on. */
  | { readonly kind: "refuse" }
  /** Tool calls before the answer, and then the answer. */
  | { readonly kind: "calls"; readonly calls: readonly ScriptedCall[] }
  /** The same tool call again and again. */
  | { readonly kind: "endless"; readonly call: ScriptedCall };

export interface Failure {
  readonly name: string;
  readonly moments: readonly Moment[];
  readonly effect: Effect;
  /** Where a rule makes it another kind of failure at some moment. */
  readonly effectAt?: Partial<Record<Moment, Effect>>;
  readonly model?: ModelFault;
  /** Shell commands with `$SELF` and `$RUNTIME` (pids), `$RUNTIME_FILE`, `$WORK`, `$JOURNAL`. */
  readonly commands?: string;
  /** Run before the command line is: what is wrong from the beginning on. */
  readonly before?: string;
  readonly baseUrl?: string;
  readonly limits?: Readonly<Record<string, number>>;
  /** Only once or only for good: the other makes no sense. */
  readonly only?: "passing" | "lasting";
  /** Not inside a `Par`, with the reason. */
  readonly neverInPar?: string;
  /** Inside a `Par` only once: else the siblings are hit again, or not, as it happens. */
  readonly onceInPar?: true;
  /** The same with fewer retries of the runtime is in the table too: this one is for the full matrix. */
  readonly fullOnly?: true;
  /** Costs a minute or more where it lasts: then only in the full matrix, at the first of its moments, alone. */
  readonly slow?: true;
  /** Played by an application on the library, with tools of its own: the command line has none. */
  readonly application?: true;
  /** Nobody is there to clean up. */
  readonly leaves?: "own-death";
}

/** Short, so that a hang is seen soon; long enough for a busy machine to answer in. */
export const shortIdle = { idleMinutes: 0.1 };
export const shortTurn = { turnMinutes: 0.13 };
export const longerTurn = { turnMinutes: 0.3 };
export const modelCalls = 12;

/** With this header the runtime does not retry by itself, which would take it 15 to 60 seconds. */
const atOnce = { "x-should-retry": "false" };

function status(
  code: number,
  remedy: Crashing["remedy"],
  seconds: number,
  reply: Reply = {},
): Pick<Failure, "moments" | "effect" | "model" | "only"> {
  return {
    moments: atModel,
    // Who gives up at once never sees that it has passed.
    ...(remedy === "give-up" ? { only: "lasting" } : {}),
    effect: { kind: "crash", first: { kind: "session-error", status: code, remedy, seconds } },
    model: { kind: "reply", reply: { status: code, ...reply } },
  };
}

/** A model server that behaves badly without a status: retried like any crash. */
function broken(seconds: number, reply: Reply): Pick<Failure, "moments" | "effect" | "model"> {
  const first: Crashing = { kind: "session-error", remedy: "retry", seconds };
  return {
    moments: atModel,
    effect: { kind: "crash", first },
    model: { kind: "reply", reply },
  };
}

function hang(reply: Reply): Pick<Failure, "moments" | "effect" | "model" | "limits"> {
  const first = { kind: "idle-deadline", remedy: "retry", limit: "idleMinutes" } as const;
  return {
    moments: atModel,
    effect: { kind: "crash", first: { ...first, seconds: shortIdle.idleMinutes * 60 } },
    model: { kind: "reply", reply },
    limits: shortIdle,
  };
}

function calls(
  ...list: readonly ScriptedCall[]
): Pick<Failure, "moments" | "effect" | "model" | "only"> {
  return {
    moments: inTurns,
    only: "passing",
    effect: { kind: "harmless" },
    model: { kind: "calls", calls: list },
  };
}

const shell = (command: string, more: Readonly<Record<string, unknown>> = {}): ScriptedCall => ({
  name: "bash",
  arguments: { command, description: "d", ...more },
});

/** The turn runs into its deadline: while a tool runs, silence is no sign of a hang. */
const turnDeadline: Crashing = {
  kind: "turn-deadline",
  remedy: "retry",
  limit: "turnMinutes",
  seconds: shortTurn.turnMinutes * 60,
};

/** Statement 3: a last answer of nothing is a crash, also after a tool call. */
const silent = {
  moments: atModel,
  effect: { kind: "crash", first: { kind: "empty-answer", remedy: "retry", seconds: 1 } },
} as const satisfies Partial<Failure>;

const died: Crashing = { kind: "runtime-died", remedy: "retry", died: true, seconds: 1 };
const notStarted: Crashing = { kind: "start-failed", remedy: "retry", seconds: 1 };
/** No retry finds a runtime that is not there (statement 6). */
const notThere: Crashing = { kind: "start-failed", remedy: "give-up", seconds: 1 };
const startDeadline: Crashing = { kind: "start-failed", remedy: "retry", seconds: 15 };

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

/** Another machine's program: an ELF header for a processor that is not ours. */
const otherElf = String.raw`\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\026\000`;

export const failures: readonly Failure[] = [
  { name: "400", ...status(400, "give-up", 1) },
  { name: "401", ...status(401, "give-up", 3) },
  { name: "403", ...status(403, "give-up", 1) },
  { name: "404", ...status(404, "give-up", 1) },
  { name: "413", ...status(413, "give-up", 6) },
  { name: "429, no retry-after", ...status(429, "retry-later", 61), slow: true, fullOnly: true },
  {
    name: "429, no retry-after, told not to retry",
    ...status(429, "retry-later", 1, { headers: atOnce }),
  },
  {
    name: "429, retry-after 1 s",
    ...status(429, "retry-later", 10, { headers: { "retry-after": "1" } }),
  },
  {
    name: "429, retry-after 1 h",
    ...status(429, "retry-later", 1, { headers: { "retry-after": "3600" } }),
  },
  { name: "500", ...status(500, "retry-later", 15), slow: true, fullOnly: true },
  { name: "500, told not to retry", ...status(500, "retry-later", 1, { headers: atOnce }) },
  { name: "503", ...status(503, "retry-later", 15), slow: true, fullOnly: true },
  { name: "503, told not to retry", ...status(503, "retry-later", 1, { headers: atOnce }) },
  {
    name: "connection refused",
    moments: atModel,
    effect: { kind: "crash", first: { kind: "session-error", remedy: "retry", seconds: 24 } },
    model: { kind: "refuse" },
    neverInPar: "the port is closed for the siblings too",
    slow: true,
  },
  {
    name: "DNS failure",
    moments: ["availability"],
    effect: { kind: "crash", first: { kind: "session-error", remedy: "retry", seconds: 24 } },
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
  {
    name: "empty answer",
    ...silent,
    model: { kind: "reply", reply: { text: "" } },
  },
  {
    name: "content filter",
    ...silent,
    model: { kind: "reply", reply: { text: "", finishReason: "content_filter" } },
  },
  {
    name: "endless tool calls, turnMinutes",
    moments: inTurns,
    effect: { kind: "crash", first: turnDeadline },
    model: {
      kind: "endless",
      call: { name: "job_prepare_document", arguments: { argument: "again" } },
    },
    limits: { ...shortTurn, modelCalls: 10_000 },
  },
  {
    name: "endless tool calls, modelCalls",
    moments: inTurns,
    effect: { kind: "task-limit", limit: "modelCalls", seconds: 5 },
    model: {
      kind: "endless",
      call: { name: "job_prepare_document", arguments: { argument: "again" } },
    },
    limits: { modelCalls },
    only: "lasting",
  },
  {
    name: "tool call with invalid arguments",
    ...calls({ name: "view", arguments: '{"path": ' }, { name: "bash", arguments: { command: 5 } }),
  },
  { name: "tool call with an unknown tool", ...calls({ name: "no_such_tool", arguments: {} }) },
  { name: "a command fails", ...calls(shell("echo no >&2; exit 3")) },
  {
    name: "a command hangs",
    moments: inTurns,
    effect: { kind: "crash", first: turnDeadline },
    model: { kind: "calls", calls: [shell("sleep 900")] },
    limits: shortTurn,
  },
  {
    name: "a command prints 60 MB",
    ...calls(shell("head -c 60000000 /dev/zero | tr '\\0' x")),
    effect: { kind: "harmless", seconds: 8 },
  },
  { name: "a tool handler throws", ...calls({ name: "throws", arguments: {} }), application: true },
  {
    name: "a tool handler hangs",
    ...calls({ name: "hangs", arguments: {} }),
    // It is given up after a minute.
    effect: { kind: "harmless", seconds: 60 },
    application: true,
    slow: true,
    fullOnly: true,
  },
  {
    name: "a tool handler returns 60 MB",
    ...calls({ name: "floods", arguments: {} }),
    application: true,
  },
  {
    name: "a shell command goes on in the background",
    ...calls(shell("sleep 900", { mode: "async" })),
    effect: { kind: "harmless", seconds: shortIdle.idleMinutes * 60 },
    limits: shortIdle,
  },
  {
    name: "a shell command goes on, detached",
    ...calls(
      shell("sleep 900", { mode: "async", detach: true }),
      shell("setsid sh -c 'trap \"\" TERM HUP; sleep 900' >/dev/null 2>&1 </dev/null & echo"),
    ),
    effect: { kind: "harmless", seconds: shortIdle.idleMinutes * 60 },
    limits: shortIdle,
  },
  {
    name: "a shell command goes on with nohup",
    ...calls(shell("nohup sleep 900 >/dev/null 2>&1 & echo $!")),
    effect: { kind: "harmless", seconds: shortIdle.idleMinutes * 60 },
    limits: shortIdle,
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
    name: "runtime stopped",
    moments: everywhere,
    effect: {
      kind: "crash",
      first: {
        kind: "idle-deadline",
        remedy: "retry",
        limit: "idleMinutes",
        // It does not answer when the session is closed, and is replaced then.
        died: true,
        seconds: shortIdle.idleMinutes * 60 + 10,
      },
    },
    effectAt: {
      starting: { kind: "crash", first: startDeadline },
      creating: { kind: "crash", first: { ...startDeadline, died: true, seconds: 20 } },
      tool: {
        kind: "crash",
        first: { ...turnDeadline, died: true, seconds: longerTurn.turnMinutes * 60 + 10 },
      },
      stopping: { kind: "harmless", died: true, seconds: 10 },
    },
    commands: "kill -STOP $RUNTIME",
    slow: true,
    onceInPar: true,
    // Far apart, so that it is clear which one is crossed first.
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
    name: "runtime of the wrong platform",
    ...replaced(replaceBy(otherElf), notThere, { kind: "refused", advice }),
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
      // What runs can do without it; what is begun there can't, and no retry brings it back.
      creating: { kind: "crash", first: notThere },
    },
    only: "lasting",
  },
];
