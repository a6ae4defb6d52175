/**
 * What a job may do if a stranger's issue starts it: read the checkout, and add labels that its entry lists. All else
 * could be turned against the repository by whoever writes the issue: files, commands, addresses and tools, and texts in
 * the repository's name. What a job may do is decided by its entry alone, so it is known before an agent starts.
 */
import type { Outputs } from "../entry/outputs.ts";
import { outputsOf } from "../entry/outputs.ts";
import { commandName, commandsOf } from "../entry/work.ts";
import { ruleSet } from "../permissions/rules.ts";
import { callersOfJob } from "../run/callers.ts";
import type { Inputs } from "./inputs.ts";
import type { Sources } from "./preparation.ts";
import type { PreparedJob } from "./programs.ts";
import { Stop } from "./stop.ts";

/** Throws a `Stop` if the event is not trusted and the job may do more. Several rehearsals always may: there is no job. */
export function checkHarmless(
  { distrust }: Sources,
  { onRefused = "skip" }: Inputs,
  job?: PreparedJob,
): void {
  if (distrust === undefined) return;
  const harms = job === undefined ? ["it rehearses"] : harmsOf(job);
  if (harms.length === 0) return;
  throw new Stop(onRefused === "skip" ? "skipped" : "failure", [
    `${distrust} An issue of anybody may start a job that only reads the checkout and adds labels from a list; this one does not qualify, since ${harms.join(", ")}.`,
  ]);
}

function harmsOf(job: PreparedJob): readonly string[] {
  const { entry, jobName, permissions, loaded } = job;
  const harms = new Set<string>();
  for (const caller of callersOfJob(entry, jobName, permissions, loaded.flows)) {
    const { preset, read, write, shell, url, hosts, tools } = ruleSet(caller.permissions);
    if (preset !== "read-only") harms.add(`it has the permissions \`${preset}\``);
    const lists = { read, write, shell, url, hosts, tools };
    for (const [name, { allow }] of Object.entries(lists))
      if (allow === true || allow.length > 0) harms.add(`it is granted \`${name}\``);
  }
  const own = entry.jobs[jobName];
  for (const command of own === undefined ? [] : commandsOf([own], entry.tasks))
    harms.add(`it runs ${commandName(command)}`);
  const outputs = outputsOf(entry, jobName) ?? {};
  for (const one of publishes(outputs)) harms.add(`it publishes \`${one}\``);
  // Without them nobody has thought of it: a job that was meant for maintainers would spend tokens on strangers.
  if (outputs.proposals?.label === undefined) harms.add("its `outputs` allow no label");
  return [...harms];
}

/** What of the outputs is a text, or more than a label. */
function publishes({ report, findings, proposals = {} }: Outputs): readonly string[] {
  const { label: _label, from: _from, ...others } = proposals;
  return [
    ...(report?.comment === undefined ? [] : ["report"]),
    ...(findings?.review === undefined ? [] : ["findings.review"]),
    ...Object.keys(others).map((kind) => `proposals.${kind}`),
  ];
}
