/** The port through which a workflow reaches other files. This room reads none by itself. */

export interface WorkflowFiles {
  /**
   * The file at `path`, relative to the folder of the file `from`. The same file has the same id, by whatever path
   * and link it was reached. Files outside of the folder that bounds the workflow are not read.
   */
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
