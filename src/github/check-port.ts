/** Check runs over GitHub's API. Only the App that created a check run may change it: the built-in token's is GitHub Actions. */
import { truncate } from "../text/truncate.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { at, listAt, textAt } from "./webhook-event.ts";

export interface CheckAnnotation {
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly annotation_level: "notice" | "warning" | "failure";
  readonly title: string;
  readonly message: string;
}

export interface CheckText {
  /** One line of text. */
  readonly title: string;
  /** Markdown. */
  readonly summary: string;
  /** They are added to those that are there. */
  readonly annotations?: readonly CheckAnnotation[];
}

export type Conclusion = "success" | "failure" | "neutral" | "cancelled";

export interface NewCheck {
  readonly head: string;
  readonly name: string;
  readonly externalId: string;
  readonly url: string;
}

/** A check run of the token's own App. */
export interface OwnCheck {
  readonly id: number;
  readonly externalId: string;
  readonly isCompleted: boolean;
  /** The number of its annotations. */
  readonly annotations: number;
}

/** GitHub's limits. */
export const annotationsPerRequest = 50;
const MAX_TITLE = 255;
const MAX_SUMMARY = 65_535;

export function createCheckCalls(api: GithubApi, redact: (text: string) => string) {
  const outputOf = ({ title, summary, annotations = [] }: CheckText): object => ({
    title: truncate(redact(title), MAX_TITLE),
    summary: truncate(redact(summary), MAX_SUMMARY),
    ...(annotations.length > 0 && {
      annotations: annotations.map((one) => ({
        ...one,
        title: redact(one.title),
        message: redact(one.message),
      })),
    }),
  });
  const ownCheck = (one: unknown): OwnCheck => ({
    id: Number(at(one, "id")),
    externalId: textAt(one, "external_id") ?? "",
    isCompleted: at(one, "status") === "completed",
    annotations: Number(at(one, "output", "annotations_count") ?? 0),
  });
  return {
    /** Lists our check runs with this name on a commit, the newest first. */
    async ownChecks({ head, name }: Pick<NewCheck, "head" | "name">): Promise<readonly OwnCheck[]> {
      const viewer = await api.graphql("query { viewer { login } }", {});
      const app = textAt(at(viewer, "viewer"), "login")?.replace(/\[bot\]$/, "");
      const answer = await api.get("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", {
        ref: head,
        check_name: name,
        filter: "all",
        per_page: "100",
      });
      return listAt(answer, "check_runs")
        .filter((one) => at(one, "app", "slug") === app && at(one, "name") === name)
        .map(ownCheck)
        .sort((a, b) => b.id - a.id);
    },
    /** The one that was made for this attempt, if it is there. */
    async checkOf(check: NewCheck): Promise<OwnCheck | undefined> {
      return (await this.ownChecks(check)).find(
        ({ externalId }) => externalId === check.externalId,
      );
    },
    async checkAt(check_run_id: number): Promise<OwnCheck> {
      return ownCheck(
        await api.get("GET /repos/{owner}/{repo}/check-runs/{check_run_id}", { check_run_id }),
      );
    },
    /** It is in progress from now on, unless `conclusion` completes it at once. Not repeated, like all that isn't equal if it is done twice. */
    async createCheck(
      { head, name, externalId, url }: NewCheck,
      output: CheckText,
      conclusion?: Conclusion,
    ): Promise<number> {
      const made = await api.write(
        "POST /repos/{owner}/{repo}/check-runs",
        {
          name,
          head_sha: head,
          external_id: externalId,
          details_url: url,
          ...(conclusion === undefined ? { status: "in_progress" } : { conclusion }),
          output: outputOf(output),
        },
        "once",
      );
      const id = at(made, "id");
      if (typeof id === "number") return id;
      throw new GithubFailure("GitHub's answer names no check run", 422);
    },
    /** `conclusion`: completes it. Without one, a late update leaves a completed check run completed. */
    async updateCheck(
      check_run_id: number,
      output: CheckText,
      conclusion?: Conclusion,
    ): Promise<{ readonly url: string | undefined }> {
      const values = { check_run_id, ...(conclusion && { conclusion }), output: outputOf(output) };
      const route = "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}";
      return { url: textAt(await api.write(route, values, "once"), "html_url") };
    },
  };
}
