/** The actions: a main one, and sisters in folders of their names. Their action.yml files are made from this. */
import type { OutputName } from "../github/output-table.ts";
import type { Mode } from "./input-table.ts";

interface Action {
  readonly description: string;
  readonly outputs: readonly OutputName[];
  /** Descriptions of inputs that mean less here than in the main action. */
  readonly inputs?: Readonly<Record<string, string>>;
}

const ofRun = [
  "result",
  "reason",
  "verdict",
  "findings",
  "report",
  "report-file",
  "results",
  "failed-tasks",
  "reported-document",
  "output-dir",
  "journal",
] as const;
const ofJournal = ["journal-digest", "journal-artifact"] as const;

export const family: Readonly<Record<Mode, Action>> = {
  run: {
    description:
      "Runs AI agents the way a test runner runs tests: declared in a file, checked, retried, bounded, reported.",
    outputs: [...ofRun, ...ofJournal, "deliveries", "cost"],
  },
  plan: {
    description: "Splits a job into the shards of a matrix.",
    outputs: [
      "result",
      "reason",
      "matrix",
      "journal-pattern",
      "output-dir",
      "journal",
      "journal-artifact",
      "cost",
    ],
  },
  merge: {
    description: "Combines the shards of a job into one run. It writes nothing on GitHub.",
    outputs: [...ofRun, ...ofJournal, "cost"],
  },
  deliver: {
    description:
      "Starts no agent: writes on GitHub what the journal of an earlier job contains, as far as `outputs` of the entry of the base allows.",
    outputs: ["result", "reason", "deliveries"],
    inputs: {
      job: "The job whose journal it is. May be omitted if the entry has only one.",
      githubToken: "Reads the entry and the pull request, and writes on GitHub.",
    },
  },
  rehearse: {
    description:
      "Runs rehearsals, whose scripts play the model: no token, no network, no cost. The step fails if a rehearsal fails.",
    outputs: ofRun,
    inputs: {
      workingDirectory:
        "The folder in which a rehearsal works, unless it names one. Default: the workspace.",
    },
  },
};
