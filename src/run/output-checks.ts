/** The checks of findings and proposals, on the files of a run. */
import type { Change } from "../change/change.ts";
import { SourceTree } from "../change/source-tree.ts";
import type { OutputChecks } from "../engine/ports.ts";
import type { Origin } from "../events/output-shapes.ts";
import { checkFinding } from "../outputs/check-finding.ts";
import { checkProposal } from "../outputs/check-proposal.ts";
import type { Environment } from "../platform/environment.ts";
import { realPathOf } from "../platform/files.ts";
import type { Redactor } from "../redaction/redactor.ts";

interface Checks {
  readonly environment: Environment;
  readonly workingDirectory: string;
  readonly change: Change | undefined;
  readonly origin: Origin | undefined;
  /** Files and folders that the run writes about itself, absolute. */
  readonly records: readonly string[];
  readonly redactor: Pick<Redactor, "text">;
}

export function outputChecks({
  environment,
  workingDirectory: folder,
  change,
  origin,
  records,
  redactor,
}: Checks): OutputChecks {
  const tree = new SourceTree({ folder, environment }, change);
  return {
    finding: (value, task) => checkFinding(value, task, (path) => tree.read(path)),
    proposal: (value, allowed) =>
      checkProposal(value, allowed, {
        number: origin?.number,
        changed: () => tree.changed(records.map(realPathOf)),
        hasSecret: (text) => redactor.text(text) !== text,
      }),
  };
}
