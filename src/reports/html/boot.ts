/** The facts that a report gives its page at its start, as JSON in the element `boot`. The element `events` follows. */
import type { JournalProblem } from "../../journal/read.ts";
import type { RunSummary } from "../run-summary.ts";

export interface PortalBoot {
  readonly kind: "portal";
  readonly version: string;
  /** Whether the server has a folder of journals. */
  readonly journals: boolean;
  /** A script plays the models. */
  readonly rehearsal?: PortalRehearsal;
}

export interface PortalRehearsal {
  /** The user's name of the file. */
  readonly file: string;
  readonly job?: string;
  readonly userInput?: string;
}

export interface ReportBoot {
  readonly kind: "report";
  readonly version: string;
  readonly createdAt: string;
  /** Empty in the report of a run that wrote no journal. */
  readonly journals: readonly ReportJournal[];
  readonly runs: readonly ReportRun[];
}

export interface ReportJournal {
  /** The user's name of the file. */
  readonly name: string;
  readonly problems: readonly JournalProblem[];
  readonly moreProblems: number;
}

export interface ReportRun extends RunSummary {
  /** Indexes of the journals that contain it; its events are those of the first. */
  readonly journals: readonly number[];
}
