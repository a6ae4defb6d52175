/** Artifacts of workflow runs. Their names and contents are data of whoever could write to the run. */
import { unzipSync } from "fflate";
import type { GithubApi } from "./github-api.ts";
import { at, listAt, textAt } from "./webhook-event.ts";

export interface Artifact {
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
