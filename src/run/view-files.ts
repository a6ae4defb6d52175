/**
 * Files that are written at the end of a run, from its view, as options: a row that is on no edge is only a file of the
 * output directory. A new medium is a row here and the function that it imports.
 */
import type { RunView } from "../events/view.ts";
import { version } from "../generated/version.ts";
import { filled, type Rows } from "./option-kinds.ts";

interface ViewFile {
  readonly title: string;
  /** Its name in the output directory. Absent: it isn't there. */
  readonly name?: string;
  readonly render: () => Promise<(view: RunView) => string>;
}

export const viewFiles = {
  sarif: {
    kind: filled,
    help: "The file for the findings, as SARIF.",
    on: [],
    title: "SARIF file",
    name: "findings.sarif",
    async render() {
      const { sarifLog } = await import("../outputs/sarif.ts");
      return (view: RunView) => `${JSON.stringify(sarifLog(version, view), null, 2)}\n`;
    },
  },
  junit: {
    kind: filled,
    help: "The file for the steps, as JUnit XML.",
    on: [],
    title: "JUnit file",
    name: "junit.xml",
    async render() {
      const { junitXml, testSuiteOf } = await import("../outputs/junit.ts");
      return (view: RunView) => junitXml(testSuiteOf(view));
    },
  },
} as const satisfies Rows & Readonly<Record<string, ViewFile>>;
