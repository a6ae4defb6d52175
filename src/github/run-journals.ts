/** The journals that earlier runs of a workflow have left as artifacts. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { JOURNAL_FORMAT } from "../journal/read.ts";
import { errorMessage } from "../platform/system-error.ts";
import { plural } from "../text/numbers.ts";
import { artifactsOf, journalsInArtifact } from "./artifacts.ts";
import type { GithubApi } from "./github-api.ts";
import { at, listAt, sameRepository, textAt } from "./webhook-event.ts";

/** Matches the names in the action and its examples. Other artifacts may be large and contain no journals. */
const mayHaveJournals = ({ name }: { readonly name: string }): boolean =>
  /agent-jobs|journal/i.test(name);

/** The limit for all runs together: anybody with a workflow run, such as the author of a fork, can upload artifacts. */
const MAX_BYTES = 1_000_000_000;
const tooMuch = `artifacts and journals have more than ${MAX_BYTES} bytes`;

function isJournal(file: Uint8Array): boolean {
  return Buffer.from(file.subarray(0, 1000)).includes(JOURNAL_FORMAT);
}

/** Code of strangers makes the artifacts of a fork's run. */
function isOfFork(run: unknown): boolean {
  const isPull = /^pull_request(?!_target)/.test(textAt(run, "event") ?? "");
  return isPull && !sameRepository(at(run, "head_repository"), at(run, "repository"));
}

/** `folder`: where they are written. `count`: of runs, the latest ones. Rejects if the runs can't be listed. */
export async function downloadJournals(
  api: Pick<GithubApi, "get">,
  { workflow, count, folder }: { workflow: string; count: number; folder: string },
  warn: (text: string) => void,
): Promise<{ readonly runs: number; readonly files: readonly string[] }> {
  const route = "GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs";
  const listed = await api.get(route, { workflow_id: workflow, per_page: count });
  const all = listAt(listed, "workflow_runs");
  const ours = all.filter((run) => !isOfFork(run));
  const left = all.length - ours.length;
  if (left > 0) warn(`Left out: ${plural(left, "run")} of forks, whose journals may be made up.`);
  const runs = ours.map((run) => Number(at(run, "id")));
  const files: string[] = [];
  let room = MAX_BYTES;
  for (const run of runs) {
    try {
      const artifacts = await artifactsOf(api, String(run));
      for (const artifact of artifacts.filter(mayHaveJournals)) {
        room -= artifact.bytes;
        if (room <= 0) {
          warn(`The journals of the run ${run} and those before it are not read: ${tooMuch}`);
          return { runs: runs.length, files };
        }
        const found = await journalsInArtifact(api, artifact, room);
        for (const { length } of found) room -= length;
        for (const journal of found.filter(isJournal)) {
          // The name is ours: that of an artifact could lead anywhere.
          const path = join(folder, `${run}-${files.length}.jsonl`);
          await writeFile(path, journal, { flag: "wx", mode: 0o600 });
          files.push(path);
        }
      }
    } catch (error) {
      warn(`The journals of the run ${run} can't be read: ${errorMessage(error)}`);
    }
  }
  return { runs: runs.length, files };
}
