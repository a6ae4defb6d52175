/**
 * Check, then use: between the check of a path and its use nothing may change where the path leads. The runtime
 * runs all calls of an answer at once, and a command that a pattern allows (`git checkout *`) can put a link in
 * the place of a folder. So where commands are allowed by patterns, file tools and commands never overlap in a
 * working directory, whichever sessions of this process they belong to; nor does a command overlap with one
 * that was judged by the paths it names.
 *
 * The runtime tells the end of a tool only when all calls of the answer have ended. Of a command we can find out
 * by asking which shells are running; of a file tool we can't. Hence the order: in an answer commands come first
 * and file tools wait for them; a command never follows a file tool of the same answer. What can't be put into
 * that order is refused with a reason, and the model calls it again.
 *
 * Invariants: while a command is open, no file call is, and the other way round; every wait ends (by a bound, by
 * the end of the turn, by the end of the session); what isn't known is refused.
 */
import type { SessionEvent } from "@github/copilot-sdk";
import type { Clock } from "../events/clock.ts";
import type { Permissions } from "../entry/model.ts";
import { ruleSet } from "../permissions/rules.ts";
import { announcedCall, isCommand } from "./announced-call.ts";
import type { Call, CallKind } from "./announced-call.ts";

/** The runtime itself waits at most ten minutes for a command. */
const waitMs = 600_000;
/** The longest wait for a command that still runs although its call has ended: it may never end. */
const leftRunningMs = 5_000;
/** A command that was allowed and of which no shell was seen since. */
const notBegunMs = 30_000;
/**
 * A shell that has written something but is not listed as running has ended, or is only starting: its first words may
 * be a warning of its own, such as of a missing locale. After this time, it counts as ended.
 */
const spokenMs = 1_000;
/** From the announcement of a command to its request it takes some milliseconds; one with bad arguments never asks. */
const announcedMs = 2_000;
/** An edit of a sub-agent is prepared at an unknown time before we hear of it; it takes some milliseconds. */
const preparedMs = 5_000;
/** How often a waiting call looks again by itself. */
const lookMs = 250;
/** Of a session, at work or announced. More of them are refused. */
const maxCalls = 4_096;

/** What the sessions of one working directory share. */
class Folder {
  readonly sessions = new Set<CallOrder>();
  readonly waiting = new Set<() => void>();
  commandsOpened = 0;
  /** When the last command ended. */
  commandEnded = -Infinity;

  changed(): void {
    for (const wake of this.waiting) wake();
  }

  has(test: (one: CallOrder) => boolean): boolean {
    for (const session of this.sessions) if (test(session)) return true;
    return false;
  }
}

/** The folders that sessions work in. */
export class SharedFolders {
  readonly #folders = new Map<string, Folder>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Undefined for a session whose permissions let it run any command: a link gives it nothing that it lacks.
   * `realPath` is the folder without links; `runningShells` says how many shells of the session run.
   */
  join(
    realPath: string,
    permissions: Permissions,
    runningShells: () => Promise<number>,
  ): CallOrder | undefined {
    const { allow } = ruleSet(permissions).shell;
    if (allow === true) return undefined;
    const folder = this.#folders.get(realPath) ?? new Folder();
    this.#folders.set(realPath, folder);
    const onLeft = (): void => {
      if (folder.sessions.size === 0) this.#folders.delete(realPath);
    };
    return new CallOrder(folder, {
      clock: this.#clock,
      hasCommands: allow.length > 0,
      runningShells,
      onLeft,
    });
  }
}

interface CallOrderOptions {
  readonly clock: Clock;
  /** Whether the session may run any command at all. */
  readonly hasCommands: boolean;
  readonly runningShells: () => Promise<number>;
  readonly onLeft: () => void;
}

/** The calls of one session. */
export class CallOrder {
  readonly #calls = new Map<string, Call>();
  /** Calls that have asked before they were announced. */
  readonly #expected = new Map<string, () => void>();
  /** Commands that are announced or wait, and writes that are not refused: their first one decides an answer. */
  readonly #coming: Record<"command" | "write", Call[]> = { command: [], write: [] };
  readonly #open = { command: new Set<Call>(), file: new Set<Call>() };
  readonly #folder: Folder;
  readonly #options: CallOrderOptions;
  #announced = 0;
  #waitingCommands = 0;
  #interrupted = false;
  #looking: Promise<void> | undefined;

  constructor(folder: Folder, options: CallOrderOptions) {
    this.#folder = folder;
    this.#options = options;
    folder.sessions.add(this);
  }

  /** Takes up what the runtime tells. */
  accept(event: SessionEvent): void {
    switch (event.type) {
      case "tool.execution_start":
        return this.#announce(event);
      case "tool.execution_partial_result": {
        const call = this.#calls.get(event.data.toolCallId);
        if (call !== undefined) call.spokeAt ??= this.#options.clock.now();
        this.#lookForOthers();
        return;
      }
      case "session.background_tasks_changed":
        this.#lookForOthers();
        return;
      case "tool.execution_complete":
        return this.#ended(
          event.data.toolCallId,
          event.data.shellExecution?.exitCode !== undefined,
        );
      case "user.message":
        // The runtime makes some of its own, in the middle of a turn: calls may be at work.
        this.#interrupted = false;
        return;
      case "session.idle":
        // Nothing is at work any more but commands that run on.
        if (event.agentId !== undefined) return;
        for (const callId of this.#calls.keys()) this.#ended(callId, false);
        this.#interrupted = false;
        return;
      default:
    }
  }

  /**
   * Waits until the call may run and returns undefined, or returns the reason why it may not. A call that may
   * run can ask again. The caller checks the permissions afterwards, and withdraws the call if it is denied.
   */
  async ask(callId: string | undefined, kind: CallKind): Promise<string | undefined> {
    const isAlone = !this.#folder.has((one) => one.#options.hasCommands);
    let call = this.#calls.get(callId ?? "");
    if (call === undefined && isAlone) return undefined;
    call ??= await this.#announcementOf(callId);
    if (call === undefined) return "the call was not announced";
    if (call.repeated) return "two calls of the answer have the same id";
    if (isCommand(kind) !== (call.kind === "command")) {
      return "the call differs from what was announced";
    }
    if (call.background) {
      return "commands that are allowed by patterns must not run in the background: omit mode and detach";
    }
    if (call.state === "open") return undefined;
    this.#move(call, "waiting");
    const end = this.#options.clock.now() + waitMs;
    let looked = false;
    for (;;) {
      const step = this.#interrupted ? "the turn was canceled" : this.#step(call, kind);
      if (step === undefined) {
        call.byPaths = kind === "path-command";
        this.#move(call, "open");
        return undefined;
      }
      if (step === stillRuns && !looked) {
        looked = true;
        await Promise.all([...this.#folder.sessions].map((one) => one.#look()));
        continue;
      }
      if (step !== wait || this.#options.clock.now() >= end) {
        this.#move(call, "refused");
        return step === wait ? "another call has not ended for ten minutes" : step;
      }
      await this.#pause();
    }
  }

  /** What a sub-agent calls may be announced after it asks. */
  async #announcementOf(callId: string | undefined): Promise<Call | undefined> {
    if (callId === undefined || this.#expected.size >= maxCalls) return undefined;
    const timer = new AbortController();
    this.#expected.set(callId, () => timer.abort());
    await this.#options.clock.sleep(announcedMs, timer.signal);
    this.#expected.delete(callId);
    return this.#calls.get(callId);
  }

  /** The call was denied: it is not at work. */
  withdraw(callId: string | undefined): void {
    const call = this.#calls.get(callId ?? "");
    if (call !== undefined) this.#move(call, "refused");
  }

  /** The turn is being aborted: waiting and later calls are refused. */
  interrupt(): void {
    this.#interrupted = true;
    for (const wake of this.#expected.values()) wake();
    this.#folder.changed();
  }

  /** The session has ended, with every process of it. Idempotent. */
  leave(): void {
    this.#interrupted = true;
    for (const wake of this.#expected.values()) wake();
    for (const call of this.#calls.values()) this.#move(call, "refused");
    this.#calls.clear();
    this.#folder.sessions.delete(this);
    this.#folder.changed();
    this.#options.onLeft();
  }

  /** Undefined: it may go on. */
  #step(call: Call, kind: CallKind): string | undefined {
    return isCommand(kind) ? this.#commandStep(call, kind) : this.#fileStep(call, kind);
  }

  #commandStep(call: Call, kind: CallKind): string | undefined {
    const write = this.#coming.write[0];
    if (this.#open.file.size > 0 || (write !== undefined && write.index < call.index)) {
      return "a file tool of the same answer may still be running; run the command in your next answer";
    }
    const folder = this.#folder;
    if (kind === "path-command" && folder.has((one) => one.#blocksForLong())) return stillRuns;
    const meets = (other: Call): boolean => kind === "path-command" || other.byPaths;
    return folder.has((one) => one.#open.file.size > 0 || [...one.#open.command].some(meets))
      ? wait
      : undefined;
  }

  #fileStep(call: Call, kind: CallKind): string | undefined {
    const folder = this.#folder;
    if (kind === "write" && call.prepared && call.commandsBefore !== folder.commandsOpened) {
      return "a command has run since this change was prepared; read the file and repeat the change";
    }
    // Then no command is open. Those that wait for this answer to end must not be waited for.
    if (this.#open.file.size > 0) return undefined;
    if (folder.has((one) => one.#blocksForLong())) return stillRuns;
    if (folder.has((one) => one.#open.command.size > 0)) return wait;
    if (folder.has((one) => one !== this && one.#waitingCommands > 0)) return wait;
    return this.#commandComes() ? wait : undefined;
  }

  /** Whether a command of this answer is about to ask, and would not be refused. */
  #commandComes(): boolean {
    const command = this.#coming.command[0];
    const write = this.#coming.write[0];
    if (command === undefined || (write !== undefined && write.index < command.index)) return false;
    return command.state === "waiting" || this.#options.clock.now() - command.since < announcedMs;
  }

  #blocksForLong(): boolean {
    const now = this.#options.clock.now();
    for (const { leftRunning, begun, since } of this.#open.command) {
      if (leftRunning && now - since >= leftRunningMs) return true;
      if (!begun && now - since >= notBegunMs) return true;
    }
    return false;
  }

  #announce({ agentId, data }: SessionEvent & { type: "tool.execution_start" }): void {
    const { toolCallId: callId, toolName, arguments: given } = data;
    const known = this.#calls.get(callId);
    if (known !== undefined) {
      known.repeated = true;
      return;
    }
    if (this.#calls.size >= maxCalls) return;
    const since = this.#options.clock.now();
    const { commandsOpened, commandEnded } = this.#folder;
    const commandIsBeside =
      this.#folder.has((one) => one.#open.command.size > 0) ||
      (agentId !== undefined && since - commandEnded < preparedMs);
    const call = announcedCall(callId, this.#announced, toolName, given, {
      commandsBefore: commandIsBeside ? undefined : commandsOpened,
      since,
    });
    this.#announced += 1;
    this.#calls.set(callId, call);
    this.#expected.get(callId)?.();
    if (call.kind === "command" || call.kind === "write") this.#coming[call.kind].push(call);
  }

  #ended(callId: string, exited: boolean): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    if (call.kind === "command" && call.state === "open" && !exited) {
      if (!call.leftRunning) call.since = this.#options.clock.now();
      call.begun = true;
      call.leftRunning = true;
      return;
    }
    this.#over(call);
  }

  /** The only place where a state changes. Wakes the calls that may have waited for it. */
  #move(call: Call, state: Call["state"]): void {
    const before = call.state;
    if (before === state) return;
    call.state = state;
    const command = call.kind === "command";
    const open = command ? this.#open.command : this.#open.file;
    if (command && before === "waiting") this.#waitingCommands -= 1;
    if (command && state === "waiting") this.#waitingCommands += 1;
    if (state === "open") {
      open.add(call);
      call.since = this.#options.clock.now();
      if (command) this.#folder.commandsOpened += 1;
    }
    if (before === "open") {
      open.delete(call);
      if (command) this.#folder.commandEnded = this.#options.clock.now();
    }
    this.#tidy();
    if ((before === "open" && open.size === 0) || (command && before === "waiting")) {
      this.#folder.changed();
    }
  }

  #tidy(): void {
    const { command, write } = this.#coming;
    const hasCome = ({ state }: Call): boolean => state === "open" || state === "refused";
    while (command[0] !== undefined && hasCome(command[0])) command.shift();
    while (write[0]?.state === "refused") write.shift();
  }

  async #pause(): Promise<void> {
    const timer = new AbortController();
    const wake = (): void => timer.abort();
    const { waiting, sessions } = this.#folder;
    waiting.add(wake);
    for (const session of sessions) void session.#look();
    await this.#options.clock.sleep(lookMs, timer.signal);
    waiting.delete(wake);
  }

  #lookForOthers(): void {
    if (this.#folder.waiting.size > 0) void this.#look();
  }

  /** Finds out whether the open commands have ended. */
  #look(): Promise<void> {
    this.#looking ??= this.#findOut().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #findOut(): Promise<void> {
    const open = [...this.#open.command];
    if (open.length === 0) return;
    const now = this.#options.clock.now();
    const begun = open.filter(
      ({ begun, spokeAt }) => begun || (spokeAt !== undefined && now - spokeAt >= spokenMs),
    );
    const running = await this.#options.runningShells().catch(() => undefined);
    if (running === undefined) return;
    // Every shell is one of an open command.
    if (running >= open.length) for (const call of open) call.begun = true;
    if (running === 0) for (const call of begun) this.#over(call);
  }

  #over(call: Call): void {
    this.#move(call, "refused");
    if (this.#calls.get(call.id) === call) this.#calls.delete(call.id);
  }
}

const wait = "wait";
const stillRuns =
  "a command is still running and could change where paths lead; wait for it to end, or stop it";
