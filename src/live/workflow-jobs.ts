/** Workflows as jobs of a server: what someone who starts one must know, and what is missing at its start. */
import type { Script } from "../rehearsal/format/script.ts";
import { describeWorkflow, type WorkflowDescription } from "../workflow/describe.ts";
import type { Workflow } from "../workflow/model.ts";
import { given } from "../run/flows.ts";
import type { Params } from "../run/options.ts";
import { refused, type Refused } from "./refusals.ts";

/** By the name of the job. */
export type Workflows = Readonly<Record<string, WorkflowDescription>>;

/** `workflow`: the only job. A parameter that the rehearsal has is a default. */
export function describeWorkflowJobs(
  [jobName]: readonly string[],
  workflow: Workflow | undefined,
  rehearsal: Script | undefined,
): Workflows {
  if (workflow === undefined || jobName === undefined) return {};
  const described = describeWorkflow(workflow);
  const { params = {} } = rehearsal ?? {};
  const parameters = described.parameters.map((one) =>
    Object.hasOwn(params, one.name) ? { ...one, default: params[one.name] ?? "" } : one,
  );
  return { [jobName]: { ...described, parameters } };
}

/** Undefined: every parameter has a value. `workflow`: undefined for any other job, which has no parameters. */
export function missingParameters(
  workflow: WorkflowDescription | undefined,
  params: Params,
  userInput: string | undefined,
): Refused | undefined {
  if (workflow === undefined) {
    if (Object.keys(params).length === 0) return undefined;
    return refused("ParametersNotPossible", "Only a workflow has parameters.");
  }
  const all = given(params, userInput ?? "");
  const missing = workflow.parameters
    .filter((one) => one.default === undefined && !Object.hasOwn(all, one.name))
    .map(({ name }) => name);
  if (missing.length === 0) return undefined;
  const one = missing.length === 1;
  const message = `The parameter${one ? "" : "s"} ${missing.join(", ")} ${one ? "has" : "have"} no value.`;
  return { ...refused("ParametersRequired", message), parameters: missing };
}

/** What a job was started with, without secrets. */
export function maskedInputs(
  { userInput = "", params }: { readonly userInput: string | undefined; readonly params: Params },
  mask: (text: string) => string,
): { readonly userInput: string; readonly params: Params } {
  const masked = Object.entries(params).map(([name, value]) => [name, mask(value)] as const);
  return { userInput: mask(userInput), params: Object.fromEntries(masked) };
}
