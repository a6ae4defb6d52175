/** What a failure is, and the kinds of it that `failures.ts` has many of. */
import { refusalOf, type Crash } from "../../src/events/crash.ts";
import { fixture, readsItself } from "../tools/mcp/rig.ts";
import type { Flood, Reply, ScriptedCall } from "../rig/model-server.ts";

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

/** Moments that are requests of a model: one for each purpose, and the one after a tool call. */
export const atModel = ["availability", "prompt", "tool", "criteria", "retry"] as const;
/** One turn of each purpose. */
export const inTurns = ["availability", "prompt", "criteria", "retry"] as const;

/** A crash as `docs/internals/engine.md` sees it (statements 3 and 6). */
export interface Crashing {
  readonly cause: Crash["cause"];
  readonly status?: number;
  /** Statement 6: what retrying can't fix; what the server has too much of; what it can. */
  readonly remedy: "give-up" | "retry-later" | "retry" | "retry-uncounted";
  readonly limit?: "idleMinutes" | "turnMinutes";
  /** The runtime is gone: another one is started. */
  readonly died?: boolean;
  /** How long one attempt takes (facts of the runtime; generous ones of a machine). */
  readonly seconds: number;
}

export type Effect =
  | { readonly kind: "crash"; readonly first: Crashing; readonly next?: Crashing }
  /** At most the model is informed: the task goes on as if nothing had happened. */
  | { readonly kind: "harmless"; readonly seconds?: number; readonly died?: true }
  /** A limit of the task: it fails, without a retry. */
  | { readonly kind: "task-limit"; readonly limit: "modelCalls"; readonly seconds: number }
  /** Statement 19. */
  | { readonly kind: "cancel"; readonly signal: "SIGINT" | "SIGTERM" }
  /** Our own process dies at once. */
  | { readonly kind: "killed" }
  /** Nothing is begun: exit code 2 and an error that says what to do. */
  | { readonly kind: "refused"; readonly advice: RegExp }
  /** The job goes on to its end, and the output reports what could not be written. */
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
  /** So many milliseconds the time of the system jumps, as our process sees it. */
  readonly jump?: number;
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
  /** What the entry declares, and the task may call. */
  readonly declares?: { readonly tools?: object; readonly mcpServers?: object };
  /** The run reports that a server failed. */
  readonly serverFails?: true;
  /** The commands of an EXECUTE that the job runs before the task, and that may fail. */
  readonly execute?: string;
  /** Played by an application on the library, with tools of its own: the command line has none. */
  readonly application?: true;
  /** Its own process can't clean up. */
  readonly leaves?: "own-death";
}

/** Short, so that a hang is seen soon; long enough for a busy machine to answer in. */
export const shortIdle = { idleMinutes: 0.1 };
export const shortTurn = { turnMinutes: 0.13 };
export const longerTurn = { turnMinutes: 0.3 };
export const modelCalls = 12;

/** With this header the runtime does not retry by itself, which would take it 15 to 60 seconds. */
export const atOnce = { "x-should-retry": "false" };

export function status(
  code: number,
  remedy: Crashing["remedy"],
  seconds: number,
  reply: Reply = {},
): Pick<Failure, "moments" | "effect" | "model" | "only"> {
  return {
    moments: atModel,
    // Who gives up at once never sees that it has passed.
    ...(remedy === "give-up" ? { only: "lasting" } : {}),
    effect: {
      kind: "crash",
      first: { cause: refusalOf(code)?.cause ?? "session-error", status: code, remedy, seconds },
    },
    model: { kind: "reply", reply: { status: code, ...reply } },
  };
}

/** A model server that behaves badly without a status: retried like any crash. */
export function broken(
  seconds: number,
  reply: Reply,
): Pick<Failure, "moments" | "effect" | "model"> {
  const first: Crashing = { cause: "session-error", remedy: "retry", seconds };
  return {
    moments: atModel,
    effect: { kind: "crash", first },
    model: { kind: "reply", reply },
  };
}

export function hang(reply: Reply): Pick<Failure, "moments" | "effect" | "model" | "limits"> {
  const first = { cause: "deadline", remedy: "retry", limit: "idleMinutes" } as const;
  return {
    moments: atModel,
    effect: { kind: "crash", first: { ...first, seconds: shortIdle.idleMinutes * 60 } },
    model: { kind: "reply", reply },
    limits: shortIdle,
  };
}

/** An answer that does not end by itself: it is cut off, and not asked for again. */
export function flood(seconds: number, of: Flood): Pick<Failure, "moments" | "effect" | "model"> {
  const first: Crashing = { cause: "answer-too-long", remedy: "give-up", seconds };
  return {
    moments: atModel,
    effect: { kind: "crash", first },
    model: { kind: "reply", reply: { flood: of } },
  };
}

/** Statement 19, while an answer streams. */
export function canceledFlood(
  of: Flood,
): Pick<Failure, "moments" | "effect" | "model" | "commands" | "only"> {
  return {
    moments: inTurns,
    effect: { kind: "cancel", signal: "SIGTERM" },
    model: { kind: "reply", reply: { flood: of } },
    // In the middle of it.
    commands: "(sleep 0.7; kill -TERM $SELF) &",
    only: "passing",
  };
}

export function calls(
  ...list: readonly ScriptedCall[]
): Pick<Failure, "moments" | "effect" | "model" | "only"> {
  return {
    moments: inTurns,
    only: "passing",
    effect: { kind: "harmless" },
    model: { kind: "calls", calls: list },
  };
}

export const shell = (
  command: string,
  more: Readonly<Record<string, unknown>> = {},
): ScriptedCall => ({
  name: "bash",
  arguments: { command, description: "d", ...more },
});

const node = process.execPath;
const parameters = { type: "object" } as const;

/** A command of the entry as a tool; the model calls it once. */
export function command(
  script: string,
  more: { readonly timeoutSeconds?: number } = {},
): Pick<Failure, "moments" | "effect" | "model" | "only" | "declares"> {
  const tool = { description: "Fails.", parameters, command: ["sh", "-c", script], ...more };
  return { ...calls({ name: "fails", arguments: {} }), declares: { tools: { fails: tool } } };
}

/** An MCP server of the entry that behaves as `tools/mcp/fixture.ts` says; the model calls one of its tools once. */
export function server(
  behavior: string,
  more: { readonly required?: boolean; readonly startSeconds?: number } = {},
): Pick<Failure, "moments" | "effect" | "model" | "only" | "declares"> {
  const declared = { command: node, args: [fixture, behavior], permissions: readsItself, ...more };
  return {
    ...calls({ name: "docs-call", arguments: {} }),
    declares: { mcpServers: { docs: declared } },
  };
}

/** An EXECUTE of a workflow before the task. It ends for good, whatever happens to it. */
export function execute(
  script: string,
  seconds: number,
): Pick<Failure, "moments" | "effect" | "only" | "execute" | "neverInPar"> {
  return {
    moments: ["starting"],
    effect: { kind: "harmless", seconds },
    only: "passing",
    execute: script,
    neverInPar: "the works of a Par don't wait for it",
  };
}
