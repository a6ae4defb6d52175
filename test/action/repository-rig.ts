/** Steps whose event is about pull request 7 of a repository that remembers what is written, from `base` to `head`. */
import type { TestContext } from "node:test";
import { GithubRepository, type RepositoryOptions } from "../rig/github-repository.ts";
import { runStep, type StepOptions, type StepResult } from "../rig/runner.ts";
import { makeRepository, type Workspace } from "../rig/workspace.ts";

export const head = "c".repeat(40);
export const base = "b".repeat(40);

type Given = Partial<StepOptions>;

export interface World {
  readonly workspace: Workspace;
  readonly github: GithubRepository;
  /** The one that is checked out. It and the base have the files of the workspace. */
  readonly commit: string;
  readonly setting: (given?: Given) => StepOptions;
  readonly step: (given?: Given) => Promise<StepResult>;
}

export async function repositoryWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: Partial<RepositoryOptions> = {},
): Promise<World> {
  const workspace = await makeRepository(t, files);
  const commit = (await workspace.git("rev-parse", "HEAD")).trim();
  const there = [base, commit].flatMap((ref) =>
    Object.entries(files).map(([name, text]) => [`${ref}:${name}`, text] as const),
  );
  const github = await GithubRepository.start(t, {
    head,
    ...options,
    files: { ...Object.fromEntries(there), ...options.files },
  });
  const setting: World["setting"] = ({ env, inputs, ...given } = {}) => ({
    workspace: workspace.path,
    event: "pull-request",
    apiUrl: github.url,
    env: { GITHUB_RUN_ID: "99", GITHUB_RUN_ATTEMPT: "1", ...env },
    inputs: { "github-token": "ghs_0123456789abcdef", ...inputs },
    ...given,
  });
  return { workspace, github, commit, setting, step: (given) => runStep(t, setting(given)) };
}
