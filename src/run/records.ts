/** Files that a run writes about itself: a journal and a recording where the user names them, and an output directory. */
import { join } from "node:path";
import type { Reporter } from "../events/sink.ts";
import type { Environment } from "../platform/environment.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { UsageError } from "./options.ts";
import { checkOutputs } from "./options-paths.ts";
import type { RecordPaths } from "./prepared-run.ts";
import type { RecordedRun } from "./recording.ts";
import { viewFiles } from "./view-files.ts";

export type { RecordPaths };
import type { RunView } from "../events/view.ts";
import { OwnFile } from "../platform/own-file.ts";

/** An output directory holds all records that have a name in it, unless another option names their files. */
export function recordPaths(given: RecordPaths, hasFlow: boolean): RecordPaths {
  const { outputDir } = given;
  const pathOf = (option: keyof RecordPaths): string | undefined => {
    const { name } = kinds[option];
    const isInside = name !== undefined && (option !== "history" || hasFlow);
    return outputDir !== undefined && isInside ? join(outputDir, name) : undefined;
  };
  return Object.fromEntries(options.map((option) => [option, given[option] ?? pathOf(option)]));
}

/** Gets every event. It leaves its file as it was until the run has begun. */
export type RunRecord = Reporter & {
  /** Leaves everything as it was before the run, which doesn't start. */
  readonly abandon?: () => void;
  /** Writes what there is so far, for a process that is about to exit. */
  readonly saveUnfinished?: () => Promise<void>;
};

interface RecordContext {
  readonly redactor: Redactor;
  /** Describes the run for a recording. If absent, nothing can be recorded. */
  readonly recorded?: RecordedRun;
}

/** `name`: in an output directory. */
type RecordKind = { readonly title: string; readonly name?: string } & (
  | {
      /** Rejects if it can't be written, so that this is known before a long run. */
      readonly open: (path: string, context: RecordContext) => Promise<RunRecord | undefined>;
    }
  /** At the end, from the view of the run. */
  | { readonly render: () => Promise<(view: RunView) => string> }
);

const kinds: Readonly<Record<keyof RecordPaths, RecordKind>> = {
  journal: {
    title: "journal",
    name: "journal.jsonl",
    open: async (path) => (await import("../journal/write.ts")).createJournal(path),
  },
  record: {
    title: "recording",
    open: async (path, { recorded, redactor }) =>
      recorded && (await import("./recording.ts")).createRecording(path, recorded, redactor),
  },
  htmlReport: {
    title: "HTML report",
    name: "report.html",
    open: async (path) => (await import("./html-report.ts")).createHtmlReport(path),
  },
  history: {
    title: "history",
    name: "steps",
    open: async (path, { redactor }) =>
      (await import("./step-history.ts")).createStepHistory(path, redactor),
  },
  outputDir: {
    title: "output directory",
    open: async (path) => (await import("./output-directory.ts")).openOutputDirectory(path),
  },
  ...viewFiles,
};

const options = Object.keys(kinds).filter(isRecord);

function isRecord(option: string): option is keyof RecordPaths {
  return Object.hasOwn(kinds, option);
}

export function checkRecords(inputs: readonly (string | undefined)[], paths: RecordPaths): void {
  const outputs = options.map((option) => [kinds[option].title, paths[option]] as const);
  checkOutputs(inputs, Object.fromEntries(outputs));
}

export async function openRecords(
  paths: RecordPaths,
  context: RecordContext,
): Promise<readonly RunRecord[]> {
  const opened: RunRecord[] = [];
  await closeOnError(opened, async () => {
    for (const option of options) {
      const path = paths[option];
      const record =
        path === undefined ? undefined : await openRecord(kinds[option], path, context);
      if (record !== undefined) opened.push(record);
    }
  });
  return opened;
}

async function openRecord(
  kind: RecordKind,
  path: string,
  context: RecordContext,
): Promise<RunRecord | undefined> {
  const { title } = kind;
  try {
    return "open" in kind
      ? await kind.open(path, context)
      : createViewFile(title, path, await kind.render());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`Can't write the ${title} ${path}: ${fileErrorMessage(error)}`);
  }
}

export async function closeOnError<T>(
  records: readonly RunRecord[],
  start: () => T | Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    for (const record of records) record.abandon?.();
    throw error;
  }
}

export function recordFiles(paths: RecordPaths, environment: Environment): readonly string[] {
  const ofStep = stepFileNames.map((name) => environment[name] || undefined);
  return [...options.map((option) => paths[option]), ...ofStep].filter(
    (path) => path !== undefined,
  );
}

/** The files through which a step of GitHub Actions speaks to the runner and to later steps. */
export const stepFileNames = [
  "GITHUB_OUTPUT",
  "GITHUB_ENV",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
] as const;

/** Until the end, the file stays as it was. Throws if it can't be written. */
function createViewFile(
  title: string,
  path: string,
  render: (view: RunView) => string,
): Reporter & { abandon(): void } {
  const file = new OwnFile(title, path);
  let view: RunView | undefined;
  return {
    name: title,
    essential: true,
    takesPast: true,
    abandon: () => file.abandon(),
    report: (_event, shared) => void (view = shared),
    async close() {
      if (view !== undefined) file.writeAll([render(view)]);
      await file.close();
    },
  };
}
