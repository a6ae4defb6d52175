/** The type of a failure, and the kinds of which `failures.ts` has many. */
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
  /** The runtime is gone: another one is started. `ended`: by us, as it no longer responds. */
  readonly died?: true | "ended";
  /** How long one attempt takes (facts of the runtime; generous ones of a machine). */
  readonly seconds: number;
}

export type Effect =
  | { readonly kind: "crash"; readonly first: Crashing; readonly next?: Crashing }
  /** At most the model is informed: the task goes on as if nothing had happened. */
  | { readonly kind: "harmless"; readonly seconds?: number; readonly died?: true | "ended" }
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

/** Replaces the answer of the scripted server at the moment of the failure. */
export type ModelFault =
  | { readonly kind: "reply"; readonly reply: Reply }
  /** The port is closed from this request on. */
  | { readonly kind: "refuse" }
  /** Tool calls before the answer, and then the answer. */
  | { readonly kind: "calls"; readonly calls: readonly ScriptedCall[] }
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
  /** A case with fewer retries of the runtime is in the table; this one is for the full matrix. */
  readonly fullOnly?: true;
  /** Costs a minute or more where it lasts: then only in the full matrix, at the first of its moments, alone. */
  readonly slow?: true;
  readonly declares?: { readonly tools?: object; readonly mcpServers?: object };
  /** For how long it may block the event loop, in milliseconds, if longer than others. */
  readonly blocks?: number;
  /** The run reports that a server failed. */
  readonly serverFails?: true;
  /** The commands of an EXECUTE that the job runs before the task, and that may fail. */
  readonly execute?: string;
  /** Its own process can't clean up. */
  readonly leaves?: "own-death";
}

/** Short, so that a hang is seen soon; long enough for a busy machine to answer in. */
export const shortIdle = { idleMinutes: 0.1 };
export const shortTurn = { turnMinutes: 0.13 };
export const longerTurn = { turnMinutes: 0.5 };
export const modelCalls = 12;

/** With this header the runtime does not retry by itself, which would take it 15 to 60 seconds. */
export const atOnce = { "x-should-retry": "false" };

/** Beside the name, what a kind of failures has. */
type Kind<Fields extends keyof Failure> = Pick<Failure, "moments" | "effect" | Fields>;

export function status(
  code: number,
  remedy: Crashing["remedy"],
  seconds: number,
  reply: Reply = {},
): Kind<"model" | "only"> {
  const cause = refusalOf(code)?.cause ?? "session-error";
  const crash = crashing({ cause, status: code, remedy, seconds }, { status: code, ...reply });
  // Who gives up at once never sees that it has passed.
  return remedy === "give-up" ? { ...crash, only: "lasting" } : crash;
}

/** A model server that behaves badly without a status: retried like any crash. */
export function broken(seconds: number, reply: Reply): Kind<"model"> {
  return crashing({ cause: "session-error", remedy: "retry", seconds }, reply);
}

/** A crash each time that the model is asked. */
export function crashing(first: Crashing, reply: Reply): Kind<"model"> {
  return { moments: atModel, effect: { kind: "crash", first }, model: { kind: "reply", reply } };
}

export function hang(reply: Reply): Kind<"model" | "limits"> {
  const first = { cause: "deadline", remedy: "retry", limit: "idleMinutes" } as const;
  const crash = crashing({ ...first, seconds: shortIdle.idleMinutes * 60 }, reply);
  return { ...crash, limits: shortIdle };
}

/** An answer that does not end by itself: it is cut off, and not asked for again. */
export function flood(seconds: number, of: Flood): Kind<"model"> {
  return crashing({ cause: "answer-too-long", remedy: "give-up", seconds }, { flood: of });
}

/** Statement 19, in the middle of something. */
export const canceledInIt = {
  effect: { kind: "cancel", signal: "SIGTERM" },
  commands: "(sleep 0.7; kill -TERM $SELF) &",
} as const;

export const harmless = (seconds: number): { readonly effect: Effect } => ({
  effect: { kind: "harmless", seconds },
});

export function calls(...list: readonly ScriptedCall[]): Kind<"model" | "only"> {
  return {
    moments: inTurns,
    only: "passing",
    effect: { kind: "harmless" },
    model: { kind: "calls", calls: list },
  };
}

const node = process.execPath;
const parameters = { type: "object" } as const;

/** A command of the entry as a tool; the model calls it once. */
export function command(
  script: string,
  more: { readonly timeoutSeconds?: number } = {},
): Kind<"model" | "only" | "declares"> {
  const tool = { description: "Fails.", parameters, command: ["sh", "-c", script], ...more };
  return { ...calls({ name: "fails", arguments: {} }), declares: { tools: { fails: tool } } };
}

/** An MCP server of the entry that behaves as `tools/mcp/fixture.ts` says; the model calls one of its tools once. */
export function server(
  behavior: string,
  more: { readonly required?: boolean; readonly startSeconds?: number } = {},
): Kind<"model" | "only" | "declares"> {
  const docs = { command: node, args: [fixture, behavior], permissions: readsItself, ...more };
  return { ...calls({ name: "docs-call", arguments: {} }), declares: { mcpServers: { docs } } };
}

/** An EXECUTE of a workflow before the task. It ends for good, whatever happens to it. */
export function execute(script: string, seconds: number): Kind<"only" | "execute" | "neverInPar"> {
  return {
    moments: ["starting"],
    ...harmless(seconds),
    only: "passing",
    execute: script,
    neverInPar: "the works of a Par don't wait for it",
  };
}
