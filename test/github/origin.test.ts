import assert from "node:assert/strict";
import { it } from "node:test";
import { originOf } from "../../src/github/origin.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const head = "a".repeat(40);
const pull = (number: number, id: number | undefined) => ({
  number,
  head: { sha: head, repo: id === undefined ? null : { id } },
});

const cases: readonly (readonly [string, unknown, readonly object[], number | undefined])[] = [
  [
    "of its own repository, not one of a fork with the same head",
    { id: 1 },
    [pull(8, 2), pull(7, 1)],
    7,
  ],
  ["of the fork that it was for", { id: 2 }, [pull(7, 1), pull(8, 2)], 8],
  ["of no other repository", { id: 1 }, [pull(8, 2), pull(9, undefined)], undefined],
  ["of a fork that is gone", null, [pull(7, 1)], undefined],
];
for (const [name, from, pulls, number] of cases)
  it(`a workflow run is about the pull request ${name}`, async (t) => {
    const run = { event: "pull_request", head_sha: head, head_repository: from };
    const { path } = await makeWorkspace(t, {
      "event.json": JSON.stringify({ workflow_run: run, repository: { id: 1 } }),
    });
    const environment = {
      GITHUB_REPOSITORY: "octo/shop",
      GITHUB_RUN_ID: "99",
      GITHUB_EVENT_NAME: "workflow_run",
      GITHUB_EVENT_PATH: `${path}/event.json`,
      GITHUB_SHA: "b".repeat(40),
    };
    const origin = await originOf(environment, { get: () => Promise.resolve(pulls) });
    assert.deepEqual(
      [origin?.number, origin?.head, origin?.isPullRequest],
      number === undefined ? [undefined, "b".repeat(40), undefined] : [number, head, true],
    );
  });
