/** The branch of the pull request of the fake repository, and the commits that GraphQL makes on it. */
import { createHash } from "node:crypto";

export interface BranchOptions {
  /** Default: "feature". */
  readonly branch?: string;
  /** The message of the head. */
  readonly headMessage?: string;
}

interface Commit {
  readonly parent: string;
  readonly message: string;
  readonly files: Readonly<Record<string, Buffer | null>>;
}

type Values = Readonly<Record<string, unknown>>;

export class GithubBranch {
  readonly name: string;
  readonly #headMessage: string;
  readonly commits = new Map<string, Commit>();

  constructor({ branch = "feature", headMessage = "Change the price" }: BranchOptions) {
    this.name = branch;
    this.#headMessage = headMessage;
  }

  messageOf(commit: string): string {
    return this.commits.get(commit)?.message ?? this.#headMessage;
  }

  /** The answer of `createCommitOnBranch`, and where the branch is then. */
  commit(variables: unknown, head: string): { readonly answer: object; readonly head: string } {
    const input: Values = Object(Object(variables)["input"]);
    const branch: Values = Object(input["branch"]);
    const refusal = (type: string, message: string) => ({
      answer: { data: { createCommitOnBranch: null }, errors: [{ type, message }] },
      head,
    });
    if (branch["repositoryNameWithOwner"] !== "octo/shop" || branch["branchName"] !== this.name)
      return refusal("NOT_FOUND", `Could not resolve to a Ref with the name ${this.name}.`);
    if (input["expectedHeadOid"] !== head)
      return refusal(
        "STALE_DATA",
        `Expected branch to point to "${String(input["expectedHeadOid"])}" but it did not. Pull and try again.`,
      );
    const { headline, body }: Values = Object(input["message"]);
    const changes: Values = Object(input["fileChanges"]);
    const additions: readonly Values[] = Object(changes["additions"]);
    const deletions: readonly Values[] = Object(changes["deletions"]);
    const oid = createHash("sha1").update(JSON.stringify(input)).digest("hex");
    this.commits.set(oid, {
      parent: head,
      message: `${String(headline)}\n\n${String(body)}`,
      files: Object.fromEntries([
        ...additions.map(({ path, contents }) => [
          String(path),
          Buffer.from(String(contents), "base64"),
        ]),
        ...deletions.map(({ path }) => [String(path), null]),
      ]),
    });
    const url = `https://github.com/octo/shop/commit/${oid}`;
    return { answer: { data: { createCommitOnBranch: { commit: { oid, url } } } }, head: oid };
  }
}
