/** Artifacts of workflow runs, and the journals in them. Their names and contents are data of whoever could write to the run. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { JOURNAL_FORMAT } from "../journal/read.ts";
import { errorMessage } from "../platform/system-error.ts";
import { plural } from "../text/numbers.ts";
import type { GithubApi } from "./github-api.ts";
import { at, listAt, sameRepository, textAt } from "./webhook-event.ts";

interface Artifact {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
}

type Get = Pick<GithubApi, "get">;

const MAX_BYTES = 500_000_000;
const MAX_ZIP_BYTES = 50_000_000;

/** Lists at most 100 artifacts of a run that have not expired; only those with `name`, if it is given. */
export async function artifactsOf(
  { get }: Get,
  runId: string,
  name?: string,
): Promise<readonly Artifact[]> {
  const found = await get("GET /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", {
    run_id: runId,
    ...(name === undefined ? { per_page: "100" } : { name, per_page: "10" }),
  });
  return listAt(found, "artifacts")
    .filter((one) => at(one, "expired") !== true)
    .map((one) => ({
      id: String(at(one, "id")),
      name: textAt(one, "name") ?? "",
      bytes: Number(at(one, "size_in_bytes")),
    }))
    .filter((one) => name === undefined || one.name === name);
}

/** The journals in an artifact, of which at most `room` bytes are read. Rejects with the reason if it is too large, or no ZIP file. */
export async function journalsInArtifact(
  { get }: Get,
  { id, bytes }: Artifact,
  room = MAX_BYTES,
): Promise<readonly Uint8Array[]> {
  if (bytes > MAX_ZIP_BYTES)
    throw new Error(`the artifact has ${bytes} bytes (at most ${MAX_ZIP_BYTES} are read)`);
  const data = await get(
    "GET /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
    { artifact_id: id, archive_format: "zip" },
  );
  if (!(data instanceof ArrayBuffer)) throw new Error("GitHub's response is not a file");
  let left = Math.min(room, MAX_BYTES);
  const files = unzipSync(new Uint8Array(data), {
    filter({ name, originalSize }) {
      const fits = name.endsWith(".jsonl") && originalSize <= left;
      if (fits) left -= originalSize;
      return fits;
    },
  });
  return Object.values(files);
}

/** Matches the names in the action and its examples. Other artifacts may be large and contain no journals. */
const mayHaveJournals = ({ name }: { readonly name: string }): boolean =>
  /agent-jobs|journal/i.test(name);

/** The limit for all runs together: anybody with a workflow run, such as the author of a fork, can upload artifacts. */
const MAX_OF_RUNS = 1_000_000_000;
const tooMuch = `artifacts and journals have more than ${MAX_OF_RUNS} bytes`;

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
  api: Get,
  { workflow, count, folder }: { workflow: string; count: number; folder: string },
  warn: (text: string) => void,
): Promise<{ readonly runs: number; readonly files: readonly string[] }> {
  const route = "GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs";
  const listed = await api.get(route, { workflow_id: workflow, per_page: count });
  const all = listAt(listed, "workflow_runs");
  const ours = all.filter((run) => !isOfFork(run));
  const left = all.length - ours.length;
  if (left > 0) warn(`Ignored: ${plural(left, "run")} from forks, whose journals may be forged.`);
  const runs = ours.map((run) => Number(at(run, "id")));
  const files: string[] = [];
  let room = MAX_OF_RUNS;
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
