/** Findings as SARIF 2.1.0, in the subset that GitHub's code scanning reads. */
import type { Log, Replacement, ReportingDescriptor, Result, Run } from "sarif";
import { truncate } from "../text/truncate.ts";
import type { Finding } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { collectOutputs } from "./collect.ts";
import { headLines } from "./line-address.ts";

/** Code scanning shows the first 5,000 results, and refuses more than 25,000. */
const maxResults = 5_000;

const levels = { notice: "note", warning: "warning", error: "error" } as const;

const project = "https://github.com/org/agent-jobs";

/** In a rehearsal, the findings are a script's, and the lines need not exist. */
export function sarifLog(version: string, view: RunView): Log {
  const findings = collectOutputs(view).findings.slice(0, maxResults);
  const ids = [...new Set(findings.map(({ rule }) => rule))];
  const indexes = new Map(ids.map((id, index) => [id, index]));
  const rules = ids.map((id) => ruleOf(id, view.jobName));
  const driver = { name: "agent-jobs", informationUri: project, semanticVersion: version, rules };
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver },
        ...placeOf(view, findings),
        ...(view.rehearsed && { properties: { rehearsed: true } }),
        results: findings.map((one) => result(one, indexes.get(one.rule) ?? -1)),
      },
    ],
  };
}

/** Code scanning keeps the last upload of each category: the id up to its last slash. */
function placeOf(
  { runId, jobName, entryFile = "", plan }: RunView,
  findings: readonly Finding[],
): Partial<Run> {
  const origin = plan?.origin;
  const entry = entryFile.split(/[\\/]/).at(-1) ?? "";
  const parts = ["agent-jobs", entry, jobName, origin?.leg ?? "", runId];
  const automationDetails = { id: wellFormed(parts.filter((part) => part !== "").join("/")) };
  if (origin === undefined) return { automationDetails };
  // Agents that saw the merge of a pull request may have seen other lines than its head has.
  const isHead = findings.every((one) => headLines(one, origin)?.from === one.line);
  const { server, repository, head } = origin;
  const repositoryUri = `${server}/${repository}`;
  const versionControlProvenance = [{ repositoryUri, ...(isHead && { revisionId: head }) }];
  return { automationDetails, versionControlProvenance };
}

function ruleOf(id: string, job: string): ReportingDescriptor {
  const full = truncate(
    `The rule ${JSON.stringify(id)} of agents in the job ${JSON.stringify(job)}.`,
    900,
  );
  return {
    id,
    shortDescription: { text: id },
    fullDescription: { text: wellFormed(full) },
    help: {
      text: "An AI agent has reported this finding and named its rule. Check the message against the code before you change anything.",
    },
    helpUri: `${project}/blob/main/docs/outputs.md`,
  };
}

function result(finding: Finding, ruleIndex: number): Result {
  const { path, line, endLine = line, severity, rule, title, message, suggestion } = finding;
  const artifactLocation = { uri: uri(path) };
  return {
    ruleId: rule,
    ruleIndex,
    level: levels[severity],
    message: { text: plainMessage(title === undefined ? message : `${title}: ${message}`) },
    locations: [{ physicalLocation: { artifactLocation, region: { startLine: line, endLine } } }],
    ...(suggestion !== undefined && {
      fixes: [
        {
          description: { text: "The agent's suggestion" },
          artifactChanges: [
            { artifactLocation, replacements: [replacement(suggestion, line, endLine)] },
          ],
        },
      ],
    }),
    partialFingerprints: { "agentJobsFinding/v1": finding.fingerprint },
  };
}

/** A region without columns ends before the line break of its last line. reviewdog needs a text in any case. */
function replacement(suggestion: string, startLine: number, endLine: number): Replacement {
  const isDeletion = suggestion === "";
  return {
    deletedRegion: isDeletion
      ? { startLine, startColumn: 1, endLine: endLine + 1, endColumn: 1 }
      : { startLine, endLine },
    insertedContent: { text: wellFormed(suggestion).replace(/\r?\n$/, "") },
  };
}

/** Relative to the root of the repository. A first part with a colon isn't taken for a scheme: it is encoded, too. */
function uri(path: string): string {
  return wellFormed(path).split("/").map(encodeURIComponent).join("/");
}

/** In a SARIF message, `[text](1)` is a link to a location, and `{0}` an argument. */
function plainMessage(text: string): string {
  return wellFormed(text)
    .replace(/[[\]\\]/g, "\\$&")
    .replace(/[{}]/g, "$&$&");
}

/** A surrogate without its pair can't be encoded. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, "\u{FFFD}");
}
