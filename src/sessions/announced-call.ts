/** A tool call from its announcement to its end, as far as `call-order.ts` needs to know it. */
import { writeTools } from "../permissions/rules.ts";

const commandTools: readonly string[] = ["bash", "powershell"];

/** `path-command`: a command whose judgment has asked where paths lead. */
export type CallKind = "command" | "path-command" | "read" | "write";

export interface Call {
  readonly id: string;
  readonly kind: "command" | "write" | "other";
  /** Its place in the order of the model. */
  readonly index: number;
  /** An edit has read its file before it asks. */
  readonly prepared: boolean;
  /** Asks to run in the background. */
  readonly background: boolean;
  /** How many commands had been opened in the folder when the call began; undefined if one was open just then. */
  readonly commandsBefore: number | undefined;
  state: "announced" | "waiting" | "open" | "refused";
  /** Two calls have its id: one could stand for the other. */
  repeated: boolean;
  /** When it was announced; of an open command: when it was allowed, or left running. */
  since: number;
  /** Of an open command: its shell was seen, so if no shell runs now, it has ended. */
  begun: boolean;
  /** Of an open command: when its shell first wrote something. */
  spokeAt: number | undefined;
  /** Of an open command: its call has ended, but not its shell. */
  leftRunning: boolean;
  /** Of an open command: it was judged by paths. */
  byPaths: boolean;
}

/** A call as the runtime announces it. */
export function announcedCall(
  id: string,
  index: number,
  toolName: string,
  given: unknown,
  at: Pick<Call, "commandsBefore" | "since">,
): Call {
  return {
    id,
    index,
    kind: kindOf(toolName),
    prepared: toolName !== "create",
    background: inBackground(given),
    state: "announced",
    repeated: false,
    begun: false,
    spokeAt: undefined,
    leftRunning: false,
    byPaths: false,
    ...at,
  };
}

export function isCommand(kind: CallKind): boolean {
  return kind === "command" || kind === "path-command";
}

function kindOf(toolName: string): Call["kind"] {
  if (commandTools.includes(toolName)) return "command";
  return writeTools.includes(toolName) ? "write" : "other";
}

/** Everything but the plain form of a command that is waited for. */
function inBackground(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return false;
  const mode: unknown = Reflect.get(given, "mode");
  const detach: unknown = Reflect.get(given, "detach");
  return (mode !== undefined && mode !== "sync") || (detach !== undefined && detach !== false);
}
