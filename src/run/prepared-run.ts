/** The options of a run, and what `prepare.ts` makes of them. */
import type { Diagnostic } from "../document/diagnostic.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Transition } from "../engine/ports.ts";
import type { Limits } from "../entry/model.ts";
import type { Origin } from "../events/output-shapes.ts";
import type { Reporter } from "../events/sink.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { TerminalOptions } from "../reports/terminal/terminal-reporter.ts";
import type { Runtimes } from "../sessions/request-handler.ts";
import type { Asker } from "../workflow/model.ts";
import type { Executor } from "../workflow/run/executors.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import type { Flows, ReadEntry } from "./flows.ts";
import type { RunOnHostOptions } from "./host.ts";
import type { ChangeOptions } from "./job-subject.ts";
import type { FieldsOn } from "./option-table.ts";
import type { Inputs, WriteName } from "./options.ts";
import type { ModelAccess } from "./options-provider.ts";
import type { JournalSource } from "../journal/store.ts";
import type { Shard } from "../engine/fan-out.ts";
import type { Run } from "./run-spec.ts";
import type { TelemetryTarget } from "./telemetry.ts";
import type { viewFiles } from "./view-files.ts";

export interface ContinueOptions {
  /** Only what comes before the fan-out runs, and its items are listed. */
  readonly plan?: boolean | undefined;
  /** With `plan`: the number of shards that will follow. */
  readonly shards?: number | undefined;
  /** With `resume`, the journal of the plan: only these members of the fan-out run. */
  readonly shard?: Shard | undefined;
  /** Journals of a plan and of its shards, from which the run goes on. */
  readonly journals?: readonly string[] | undefined;
  readonly onMissing?: "fail" | "continue" | undefined;
  /** Where the journals are. Default: files. */
  readonly store?: JournalSource | undefined;
  /** The journal of this run. In a store, it may contain earlier attempts. */
  readonly journal?: string | undefined;
}

/** The options of a run, besides its entry. Paths are relative to the current directory. */
export interface RunOptions extends FieldsOn<"run">, ModelAccess, ChangeOptions, ContinueOptions {
  /** Absent with `prompt` or `promptFile`, which are the job themselves. */
  readonly entryFile?: string | undefined;
  /** Names the entry in the journal and reports, if its file is only a copy. */
  readonly entryName?: string | undefined;
  /** The job of the entry. Names the one of a prompt. */
  readonly jobName?: string | undefined;
  readonly origin?: Origin | undefined;
  /** The leg of a matrix. With `resume`, that of the journal must be the same. */
  readonly leg?: string | undefined;
  readonly limits?: Limits;
  /** The option or input that set each of them, as the user wrote it. */
  readonly limitNames?: LimitSources;
  /** How to write an option's name in an error. Default: as the command line does, `--user-input`. */
  readonly write?: WriteName;
  /** With `rehearse`: throws if the sessions may not work in this folder, which the rehearsal may have named. */
  readonly checkFolder?: (folder: string) => Promise<void>;
  /** MCP servers start in an empty folder, because the working directory may hold untrusted files. */
  readonly isolateServers?: boolean;
  /** With `rehearse`: its `expect` decides how the run ended, as for `agent-jobs rehearse`. Default: `expect` is ignored. */
  readonly honorExpectations?: boolean;
  /** The script says only what the run begins with: the models are asked, and its `expect` is left to the caller. */
  readonly live?: boolean | undefined;
  /** Whether what tasks note is kept for later runs. Default: true; never of a rehearsal, or of a part of a job. */
  readonly remembers?: boolean;
  /** Asks a person what `answers` doesn't answer. Default: such an ASK fails. */
  readonly asker?: Asker;
  /** Run code fences of further tags, or those that there are in another way. */
  readonly executors?: readonly Executor[];
  readonly onResult?: (result: FlowResult) => void;
  readonly gateTurns?: RunOnHostOptions["gateTurns"];
  readonly terminal?: Omit<TerminalOptions, "clock">;
  readonly reporters?: readonly Reporter[];
  readonly telemetry?: TelemetryTarget | undefined;
  readonly onTransition?: ((transition: Transition) => void) | undefined;
  readonly runtimes?: Runtimes | undefined;
  /** A random id that every process of the run carries in its environment as `AGENT_JOBS_RUN`. Default: a new one. */
  readonly mark?: string;
}

/** The files that a run writes about itself. */
export type RecordPaths = {
  readonly [
    Name in "journal" | "record" | "htmlReport" | "history" | "outputDir" | keyof typeof viewFiles
  ]?: string | undefined;
};

export type SettledEntry = Pick<
  Run,
  "entry" | "originalEntry" | "limits" | "permissions" | "env" | "answers" | "executors"
> & { readonly flows: Flows };

/** Checked input, which can no longer be refused. */
export interface PreparedRun extends Run {
  readonly flows: Flows;
  readonly loaded: ReadEntry;
  readonly jobName: string;
  readonly inputs: Inputs;
  /** The folder that `workingDirectory` is a copy of; else the same. */
  readonly namedDirectory: string;
  readonly script: Script | undefined;
  readonly recordPaths: RecordPaths;
  readonly warnings: readonly Diagnostic[];
  /** Removes what was made for the run; `executeRun` does it at its end. */
  readonly cleanUp: () => Promise<void>;
}
