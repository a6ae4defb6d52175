/** The pipeline and the change of a run on GitHub, in the names of the conventions (`cicd.*`, `vcs.*`). */
import type { Attributes } from "@opentelemetry/api";
import type { Environment } from "../../platform/environment.ts";

export function gitHubAttributes(environment: Environment): Attributes {
  if (environment["GITHUB_ACTIONS"] !== "true") return {};
  const of = (name: string): string | undefined => environment[`GITHUB_${name}`] || undefined;
  const [owner, repository] = of("REPOSITORY")?.split("/") ?? [];
  const home = repository && `${of("SERVER_URL") ?? "https://github.com"}/${of("REPOSITORY")}`;
  const run = of("RUN_ID");
  const attempt = of("RUN_ATTEMPT") ?? "1";
  const source = of("HEAD_REF");
  return {
    "cicd.pipeline.name": of("WORKFLOW"),
    "cicd.pipeline.run.id": run,
    "cicd.pipeline.run.url.full": home && run && `${home}/actions/runs/${run}/attempts/${attempt}`,
    "cicd.pipeline.task.name": of("JOB"),
    "cicd.worker.name": environment["RUNNER_NAME"],
    "vcs.provider.name": "github",
    "vcs.owner.name": owner,
    "vcs.repository.name": repository,
    "vcs.repository.url.full": home,
    "vcs.ref.head.name": source ?? of("REF_NAME"),
    "vcs.ref.head.type": source === undefined ? of("REF_TYPE") : "branch",
    // The commit of a pull request's event is a merge that nobody has pushed.
    "vcs.ref.head.revision": source === undefined ? of("SHA") : undefined,
    "vcs.ref.base.name": of("BASE_REF"),
    "vcs.change.id": /^refs\/pull\/(\d+)\//.exec(of("REF") ?? "")?.[1],
  };
}
