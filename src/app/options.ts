import type { LimitSources } from "../engine/limits.ts";
import type { Limits, PermissionPreset } from "../entry/model.ts";
import type { Reporter } from "../events/sink.ts";
import type { TerminalStream } from "../reporters/terminal/terminal-reporter.ts";
import type { RuntimeKeeper, SessionsOptions, Tool } from "../sessions/sessions.ts";
import type { ModelTransport } from "../sessions/transport.ts";

export const providerTypes = ["openai", "azure", "anthropic"] as const;
export const wireApis = ["completions", "responses"] as const;

/** A model server of one's own. With it, no GitHub token is needed or used. */
export interface ProviderOptions {
  /** Default: `openai`. */
  readonly type?: (typeof providerTypes)[number];
  /** Such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Masked in everything that is written. Default: none. */
  readonly apiKey?: string;
  /** Default: `completions`. */
  readonly wireApi?: (typeof wireApis)[number];
}

/** How the models are reached: the same for the command line, the action and the library. */
export interface ModelAccess {
  readonly provider?: ProviderOptions;
  readonly gitHubToken?: string;
  /** Where the Copilot runtime is; default: `COPILOT_CLI_PATH`, then the installed package. */
  readonly runtimePath?: string;
  /** The environment of this process. What the runtime and its shells see of it is an allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What a run may be told beside its entry. Paths are relative to the current directory. */
export interface RunOptions extends ModelAccess {
  readonly entryFile: string;
  /** May be left out if the entry has just one job. */
  readonly jobName?: string;
  readonly userInput?: string;
  readonly workingDirectory?: string;
  /** Category to model id, over `entry.models`. */
  readonly models?: Readonly<Record<string, string>>;
  /** Where the entry says nothing, and a ceiling where it does. */
  readonly permissions?: PermissionPreset;
  /** Over the entry's. */
  readonly limits?: Limits;
  /** The option or input that set each of them, as the person wrote it. */
  readonly limitNames?: LimitSources;
  /** A rehearsal file whose script plays the model. */
  readonly rehearse?: string;
  /** With `rehearse`: work in the folder itself. Default: where tools may change it, in a copy of it. */
  readonly inPlace?: boolean;
  /** With `rehearse`: throws if the sessions may not work in this folder, which the rehearsal may have named. */
  readonly checkFolder?: (folder: string) => Promise<void>;
  /** With `rehearse`: its `expect` decides how the run ended, as for `agent-jobs rehearse`. Default: it is not looked at. */
  readonly honourExpectations?: boolean;
  /** Where to write a rehearsal of this run. */
  readonly record?: string;
  /** Where to write the journal. */
  readonly journal?: string;
  readonly terminal?: {
    readonly stream: TerminalStream;
    readonly verbosity: "quiet" | "normal" | "verbose";
    readonly colors: boolean;
    /** Draw what runs below the log; for a terminal only. */
    readonly live: boolean;
    /** Print the chart at the end, as the text of a Mermaid flowchart. */
    readonly chart?: boolean;
  };
  readonly reporters?: readonly Reporter[];
  /** A random id that every process of the run carries in its environment as `AGENT_JOBS_RUN`. Default: a new one. */
  readonly mark?: string;
  /** For a runtime that may have been damaged since it was installed. */
  readonly runtimeKeeper?: RuntimeKeeper;
}

/** What an application tells a host of its own. */
export interface JobHostOptions extends Partial<ModelAccess> {
  /** Where the entry says nothing, and a ceiling where it does. */
  readonly permissions?: PermissionPreset;
  /** Over the entry's. */
  readonly limits?: Limits;
  /** Answers every model request instead of a model server. */
  readonly transport?: ModelTransport;
  /**
   * Tools with handlers in this process, offered to every session. `permissions.tools` of the entry must name
   * them, unless they say `skipPermission`. A handler that throws, takes longer than 60 seconds or returns more
   * than 200,000 characters is a result for the model, never the end of the turn.
   */
  readonly tools?: readonly Tool[];
  /** See every event of every run. */
  readonly reporters?: readonly Reporter[];
}

/** The defaults of a provider, and no token beside one. */
export function modelServer({
  provider,
  gitHubToken,
}: ModelAccess): Pick<SessionsOptions, "provider" | "gitHubToken"> {
  return provider === undefined
    ? { gitHubToken }
    : { provider: { type: "openai", wireApi: "completions", ...provider } };
}

/** The token in an environment, most specific name first. */
export function gitHubTokenOf(environment: ModelAccess["environment"]): string | undefined {
  const names = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
  return names
    .map((name) => environment[name])
    .find((token) => token !== undefined && token !== "");
}
