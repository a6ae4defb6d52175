/** The port through which a workflow reaches other files. This room reads none by itself. */

export interface WorkflowFiles {
  /** Relative to the folder of `from`. A file has one id, by whatever path or link it was reached. */
  read(path: string, from: string): FoundFile;
}

export type FoundFile =
  | {
      readonly kind: "found";
      /** The path within the folder that bounds the workflow, with `/`. */
      readonly id: string;
      readonly file: string;
      readonly content: string | Uint8Array;
    }
  | {
      readonly kind: "missing" | "outside" | "unreadable";
      readonly reason: string;
      readonly hint?: string;
    };

/** For a workflow that is alone. */
export const noFiles: WorkflowFiles = {
  read: (path) => ({
    kind: "unreadable",
    reason: `Can't read ${JSON.stringify(path)}: other files are not available here.`,
  }),
};
