/** The checks of findings and proposals, on the files of a run. */
import { join } from "node:path";
import type { Change } from "../change/change.ts";
import { SourceTree } from "../change/source-tree.ts";
import type { OutputChecks } from "../engine/ports.ts";
import type { Origin } from "../events/output-shapes.ts";
import { checkFinding } from "../outputs/check-finding.ts";
import { checkProposal } from "../outputs/check-proposal.ts";
import type { Environment } from "../platform/environment.ts";
import type { Permissions } from "../entry/model.ts";
import { decidePermission } from "../permissions/policy.ts";
import { realPathOf } from "../platform/files.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { realFiles } from "../sessions/permission-handler.ts";

interface Checks {
  readonly environment: Environment;
  readonly workingDirectory: string;
  readonly change: Change | undefined;
  readonly origin: Origin | undefined;
  /** Files and folders that the run writes about itself, absolute. */
  readonly records: readonly string[];
  readonly redactor: Pick<Redactor, "text">;
  /**
   * What the tasks may do, if only they can have changed files: a proposed file must be writable by one of them. The
   * sandbox has seen to that already, where there is one.
   */
  readonly writers: readonly Permissions[] | undefined;
}

export function outputChecks({
  environment,
  workingDirectory: folder,
  change,
  origin,
  records,
  redactor,
  writers,
}: Checks): OutputChecks {
  const tree = new SourceTree({ folder, environment }, change);
  return {
    finding: (value, task) => checkFinding(value, task, (path) => tree.read(path)),
    proposal: (value, allowed) =>
      checkProposal(value, allowed, {
        number: origin?.number,
        async changed() {
          const { root, ...changed } = await tree.changed(records.map(realPathOf));
          return {
            ...changed,
            ...(writers && {
              notWritable: (path) => notWritable(join(root, path), writers, folder),
            }),
          };
        },
        hasSecret: (text) => redactor.text(text) !== text,
      }),
  };
}

/** Why nobody may write a file; undefined if one of them may. */
function notWritable(
  path: string,
  writers: readonly Permissions[],
  workingDirectory: string,
): string | undefined {
  let reason = "the entry has no tasks";
  for (const permissions of writers) {
    const decision = decidePermission(
      permissions,
      { kind: "write", paths: [path] },
      { workingDirectory, ...realFiles },
    );
    if (decision.kind === "allowed") return undefined;
    ({ reason } = decision);
  }
  return reason;
}
