import { isRecord } from "../document/guards.ts";

/** The keys that the author wrote, whether or not what is behind them is sound. */
export interface EntryNames {
  readonly models: ReadonlySet<string>;
  readonly promptVariables: ReadonlySet<string>;
  readonly tasks: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
  readonly mcpServers: ReadonlySet<string>;
  readonly relics: ReadonlySet<string>;
  readonly monuments: ReadonlySet<string>;
}

export function entryNames(value: unknown): EntryNames {
  const keys = (field: string): ReadonlySet<string> => {
    const map = isRecord(value) ? value[field] : undefined;
    return new Set(isRecord(map) ? Object.keys(map) : []);
  };
  return {
    models: keys("models"),
    promptVariables: keys("promptVariables"),
    tasks: keys("tasks"),
    jobs: keys("jobs"),
    tools: keys("tools"),
    mcpServers: keys("mcpServers"),
    relics: keys("relics"),
    monuments: keys("monuments"),
  };
}
