/** Findings as SARIF 2.1.0, in the subset that GitHub's code scanning reads. */
import type { Log, ReportingDescriptor, Result } from "sarif";
import type { Finding } from "../events/output-shapes.ts";
import { selectFindings } from "./collect.ts";

/** Code scanning shows the first 5,000 results, and refuses more than 25,000. */
const maxResults = 5_000;

const levels = { notice: "note", warning: "warning", error: "error" } as const;

/** `rehearsed`: the findings are a script's, and the lines need not exist. */
export function sarifLog(version: string, all: readonly Finding[], rehearsed = false): Log {
  const { findings } = selectFindings(all, { max: maxResults });
  const ids = [...new Set(findings.map(({ rule }) => rule))];
  const indexes = new Map(ids.map((id, index) => [id, index]));
  const rules = ids.map((id): ReportingDescriptor => ({ id, shortDescription: { text: id } }));
  const driver = { name: "agent-jobs", semanticVersion: version, rules };
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver },
        ...(rehearsed && { properties: { rehearsed } }),
        results: findings.map((one) => result(one, indexes.get(one.rule) ?? -1)),
      },
    ],
  };
}

function result(finding: Finding, ruleIndex: number): Result {
  const { path, line, endLine = line, severity, rule, title, message } = finding;
  return {
    ruleId: rule,
    ruleIndex,
    level: levels[severity],
    message: { text: plainMessage(title === undefined ? message : `${title}: ${message}`) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uri(path) },
          region: { startLine: line, endLine },
        },
      },
    ],
    partialFingerprints: { "agentJobsFinding/v1": finding.fingerprint },
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
