/**
 * The few questions that we ask GitHub. `@actions/github` takes a while to load, and most runs ask
 * nothing: it is loaded with the first question. It finds `GITHUB_API_URL` and proxies by itself.
 */
import { isRecord } from "../entry/guards.ts";

export interface GithubApi {
  permissionOf(login: string): Promise<string>;
  isForkPullRequest(number: number): Promise<boolean>;
  /** The bytes of a file at a commit. Links are followed inside of the repository only. */
  readFile(path: string, ref: string): Promise<Uint8Array>;
}

export interface GithubApiOptions {
  readonly token: string | undefined;
  /** `owner/name` */
  readonly repository: string | undefined;
  readonly signal?: AbortSignal;
}

const LIMIT_MS = 10_000;
const MAX_BYTES = 1_000_000;

/** Every method rejects with an Error for people. */
export function createGithubApi(options: GithubApiOptions): GithubApi {
  let client: Promise<Client> | undefined;
  const ask = async (route: string, values: Readonly<Record<string, string>>): Promise<unknown> => {
    client ??= createClient(options);
    const { request, owner, repo } = await client;
    const signals = [AbortSignal.timeout(LIMIT_MS), options.signal];
    const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
    try {
      return (await request(route, { owner, repo, ...values, request: { signal } })).data;
    } catch (error) {
      throw new Error(explanation(error, signal), { cause: error });
    }
  };
  return {
    async permissionOf(username) {
      const data = await ask("GET /repos/{owner}/{repo}/collaborators/{username}/permission", {
        username,
      });
      const permission = isRecord(data) ? data["permission"] : undefined;
      if (typeof permission !== "string") throw new Error("GitHub did not say which it is");
      return permission;
    },
    async isForkPullRequest(number) {
      const data = await ask("GET /repos/{owner}/{repo}/pulls/{pull_number}", {
        pull_number: String(number),
      });
      const [head, base] = ["head", "base"].map((side) => repositoryId(data, side));
      return head === undefined || head !== base;
    },
    async readFile(path, ref) {
      // `{+path}` would leave `..` and `?` alone; the caller gives names that have none, this makes sure.
      const encoded = path.split("/").map(encodeURIComponent).join("/");
      const data = await ask(`GET /repos/{owner}/{repo}/contents/${encoded}`, { ref });
      if (!isRecord(data) || data["type"] !== "file") throw new Error("it is not a regular file");
      const { content, encoding } = data;
      if (encoding !== "base64" || typeof content !== "string") {
        throw new Error(`it is larger than ${MAX_BYTES} bytes`);
      }
      return Buffer.from(content, "base64");
    },
  };
}

interface Client {
  readonly owner: string;
  readonly repo: string;
  readonly request: (
    route: string,
    values: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly data: unknown }>;
}

async function createClient({ token, repository }: GithubApiOptions): Promise<Client> {
  const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(repository ?? "") ?? [];
  if (owner === undefined || repo === undefined) {
    throw new Error("GITHUB_REPOSITORY does not name a repository");
  }
  if (token === undefined) throw new Error("there is no GitHub token to ask with");
  const { getOctokit } = await import("@actions/github");
  const octokit = getOctokit(token);
  return { owner, repo, request: (route, values) => octokit.request(route, values) };
}

function repositoryId(data: unknown, side: string): number | undefined {
  const branch = isRecord(data) ? data[side] : undefined;
  const repository = isRecord(branch) ? branch["repo"] : undefined;
  const id = isRecord(repository) ? repository["id"] : undefined;
  return typeof id === "number" ? id : undefined;
}

function explanation(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `GitHub did not answer within ${LIMIT_MS / 1000} s`;
  if (!(error instanceof Error)) return String(error);
  const status = "status" in error && typeof error.status === "number" ? error.status : undefined;
  return status === undefined
    ? `GitHub can't be reached (${error.message})`
    : `GitHub answered ${status} (${error.message.split("\n")[0] ?? ""})`;
}
