/** What an entry offers to agents beside the runtime's own tools. */
import type { Permissions } from "./permissions.ts";

/** A command or a module of the repository that agents may call. Declaring a tool grants nothing. */
export type ToolDeclaration = ToolCommon &
  (
    | {
        /** The program and its arguments, without a shell. Runs in the working directory. */
        readonly command: readonly string[];
      }
    | {
        /** JavaScript or TypeScript, relative to the working directory; loaded in a process of its own. */
        readonly module: string;
        /** The name of the function. Default: `default`. */
        readonly export?: string;
      }
  );

interface ToolCommon {
  /** For the model. */
  readonly description: string;
  /** JSON Schema of the arguments, which are one object. */
  readonly parameters: object;
  /** Of one call. Default: 600. */
  readonly timeoutSeconds?: number;
  /** Whether it changes nothing. Default: false. */
  readonly readOnly?: boolean;
  /** Whether its calls may run beside other calls. Default: false. */
  readonly parallelSafe?: boolean;
  /** What has to be done before the first call. */
  readonly build?: ToolBuild;
}

export interface ToolBuild {
  readonly command: readonly string[];
  /** Globs of the files that the result depends on. */
  readonly inputs: readonly string[];
  /** Default: 10. */
  readonly minutes?: number;
}

/** A server of the Model Context Protocol: a program that is started, or an address. */
export type McpServer = {
  /** The only tools of it that are offered. Default: all. */
  readonly tools?: readonly string[];
  /** Whether a task that may use it fails if it can't be used. Default: true. */
  readonly required?: boolean;
  /** How long a start may take. Default: `defaultStartSeconds`. */
  readonly startSeconds?: number;
} & (
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** `env:NAME` is the value of an environment variable that the caller has allowed. */
      readonly env?: Readonly<Record<string, string>>;
      /** What its program may do. Default: as much as the task that uses it; tasks of other permissions get a server of their own. */
      readonly permissions?: Permissions;
    }
  | {
      readonly url: string;
      /** As `env`. */
      readonly headers?: Readonly<Record<string, string>>;
    }
);

/** `npx -y` with an empty cache takes half of it. */
export const defaultStartSeconds = 60;

/** A source of knowledge. */
export interface RelicDeclaration {
  /** What it is about, for the model. */
  readonly description: string;
  /** Globs within the working directory. One that starts with `!` excludes. */
  readonly files: readonly string[];
  /** Of an excerpt, or of the answer to a query. Default: 2,000. */
  readonly maxTokens?: number;
}

/** A bundle of tools and relics under a name. Its members are addressed as `name.member`. */
export interface MonumentDeclaration {
  /** What it is for, for the model. */
  readonly description?: string;
  /** Names of tools of the entry, or `server/tool`. */
  readonly tools?: readonly string[];
  /** Names of relics of the entry. */
  readonly relics?: readonly string[];
}
