/** Common parts of the calls to GitHub's GraphQL API: lists in pages, and mutations that may do nothing. */
import { isList } from "../text/guards.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { at } from "./webhook-event.ts";

/** The number of pages that are looked through for each kind. */
const maxPages = 10;
const perPage = 100;

export type Graphql = ReturnType<typeof createGraphql>;

export interface Made {
  readonly url?: string | undefined;
}

/** The means of the calls of a port. */
export interface Calls {
  readonly api: GithubApi;
  readonly graphql: Graphql;
  /** `once`: see `GithubApi.write`. */
  readonly write: (route: string, values: object, times?: "once") => Promise<Made>;
  readonly redact: (text: string) => string;
}

export function createGraphql(api: Pick<GithubApi, "graphql">, repository: string) {
  const [owner = "", name = ""] = repository.split("/");
  return {
    /** GitHub may answer without an error although it has done nothing: `field` of `object` tells. */
    async mutate(
      mutation: string,
      input: string,
      [object, field, expected]: readonly [object: string, field: string, expected: boolean],
      id: string,
    ): Promise<object> {
      const query = `mutation($id: ID!) { ${mutation}(input: { ${input} }) { ${object} { ${field} } } }`;
      if (at(await api.graphql(query, { id }), mutation, object, field) === expected) return {};
      throw new GithubFailure(`GitHub accepted ${mutation}, but didn't apply it`, 403);
    },

    /** Lists a part of the repository, or all of it, the newest first. `whole`: rejects if there is more than is looked through. */
    async nodes(
      part:
        { readonly kind: "issueOrPullRequest" | "pullRequest"; readonly number: number } | "all",
      list: string,
      fields: string,
      most?: "whole",
    ): Promise<readonly unknown[]> {
      const found: unknown[] = [];
      let before: unknown = null;
      for (let page = 0; page < maxPages; page += 1) {
        const order = part === "all" ? ", orderBy: { field: CREATED_AT, direction: ASC }" : "";
        const connection = `${list}(last: ${perPage}, before: $before${order}) { pageInfo { hasPreviousPage startCursor } nodes { ${fields} } }`;
        const values = { owner, name, before };
        const answer =
          part === "all"
            ? await api.graphql(queryOf("", connection), values)
            : await api.graphql(
                queryOf(
                  ", $number: Int!",
                  part.kind === "pullRequest"
                    ? `pullRequest(number: $number) { ${connection} }`
                    : `issueOrPullRequest(number: $number) { ... on Issue { ${connection} } ... on PullRequest { ${connection} } }`,
                ),
                { ...values, number: part.number },
              );
        const holder = at(answer, "repository");
        const connected = at(part === "all" ? holder : at(holder, part.kind), list);
        const some = at(connected, "nodes");
        const whose = part === "all" ? repository : `#${part.number}`;
        if (!isList(some)) {
          throw new GithubFailure(`GitHub shows no ${list} of ${whose}`, 404);
        }
        found.push(...some.toReversed());
        if (at(connected, "pageInfo", "hasPreviousPage") !== true) return found;
        if (most === "whole" && page === maxPages - 1)
          throw new GithubFailure(`${whose} has more than ${found.length} ${list}`, 422);
        before = at(connected, "pageInfo", "startCursor");
      }
      return found;
    },
  };
}

function queryOf(variables: string, part: string): string {
  return `query($owner: String!, $name: String!, $before: String${variables}) { repository(owner: $owner, name: $name) { ${part} } }`;
}
