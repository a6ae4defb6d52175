import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { outputsOf } from "../entry/outputs.ts";
import type { RunView } from "../events/view.ts";
import type { Origin } from "../events/output-shapes.ts";
import { deliverJournal, JournalRefused } from "../github/deliver-journal.ts";
import { originOf } from "../github/origin.ts";
import type { GithubApi } from "../github/github-api.ts";
import { asksForDelivery, deliver } from "../github/deliver.ts";
import {
  deliveryLine,
  refusedOf,
  skipped,
  type Delivery,
  type DeliveryOptions,
} from "../github/delivery.ts";
import { createGithubPort, offlinePort } from "../github/github-port.ts";
import { defined } from "../text/guards.ts";
import { systemClock } from "../platform/system-clock.ts";
import { reportReasons } from "../github/annotations.ts";
import { jobReport } from "../reports/run-json.ts";
import type { RunReport } from "../run/execute.ts";
import type { PreparedRun } from "../run/prepare.ts";
import { deliveriesText, outputsOf as outputsOfRun, type Outputs } from "../github/step-outputs.ts";
import { legNameOf, legOf, outputsOfPlan } from "./journals.ts";
import type { Paths } from "./paths.ts";
import { apiOf, centralFiles, deliveryApiOf, Stop, type Setting } from "./setting.ts";

/** Where the run belongs. The API is only asked if the job publishes something there, and never by a rehearsal. */
export async function originOfRun(
  setting: Setting,
  { entry, jobName }: PreparedRun,
): Promise<Origin | undefined> {
  const asks = setting.inputs.mode !== "rehearse";
  const publishes = asksForDelivery(outputsOf(entry, jobName) ?? {});
  return originOfStep(setting, asks && publishes ? apiOf(setting).api : undefined);
}

export async function originOfStep(
  { environment, inputs }: Setting,
  api?: GithubApi,
): Promise<Origin | undefined> {
  const origin = await originOf(environment, api);
  const legName = legNameOf(inputs);
  return origin && { ...origin, leg: legOf(environment, inputs), ...defined({ legName }) };
}

type Handing = Pick<DeliveryOptions, "checkId" | "faults">;

/** Publishes a run. A part of a job never gets as far as GitHub, nor does their merge: another job delivers it. */
export async function handOn(
  setting: Setting,
  prepared: PreparedRun,
  report: RunReport,
  handing: Handing,
): Promise<{ readonly handedOn: Partial<Outputs>; readonly deliveries: readonly Delivery[] }> {
  const { journal } = prepared.recordPaths;
  const { mode, shard } = setting.inputs;
  // A missing journal is reported as incomplete elsewhere.
  const digest = journal === undefined ? "" : await digestOf(journal).catch(() => "");
  const outputs = { "journal-digest": digest };
  if (mode === "plan") {
    const more = await outputsOfPlan(setting, journal, report);
    return { handedOn: { ...outputs, ...more }, deliveries: [] };
  }
  if (mode === "merge" || shard !== undefined) return { handedOn: outputs, deliveries: [] };
  const deliveries = await deliveriesOf(setting, prepared, report.view, handing);
  return { handedOn: { ...outputs, deliveries: deliveriesText(deliveries) }, deliveries };
}

async function deliveriesOf(
  setting: Setting,
  { entry: loaded, jobName: job, entryFile }: PreparedRun,
  view: RunView,
  { checkId, faults }: Handing,
): Promise<readonly Delivery[]> {
  const outputs = outputsOf(loaded, job) ?? {};
  const origin = view.plan?.origin;
  if (!asksForDelivery(outputs)) return [];
  if (origin === undefined)
    return [{ what: "everything", ...skipped("GITHUB_REPOSITORY or GITHUB_RUN_ID is not set") }];
  const name = centralFiles(setting)?.name ?? entryFile ?? "";
  const about = { view, outputs, origin, entry: name, job, report: jobReport(view) };
  const rehearses = setting.inputs.mode === "rehearse";
  const staged = rehearses || setting.inputs.staged;
  const port = rehearses ? offlinePort() : createGithubPort(deliveryApiOf(setting), setting.redact);
  return deliver(about, port, { staged, checkId, faults, clock: systemClock });
}

export async function deliverFromJournal(
  setting: Setting,
  paths: Paths,
): Promise<{ readonly outputs: Outputs; readonly deliveries: readonly Delivery[] }> {
  const { inputs, environment, redact } = setting;
  const { api } = apiOf(setting);
  try {
    const { view, deliveries } = await deliverJournal({
      journal: paths.journal ?? "",
      entry: paths.entry,
      central: centralFiles(setting),
      job: inputs.job,
      digest: inputs.journalDigest,
      staged: inputs.staged,
      environment,
      api,
      deliveryApi: deliveryApiOf(setting),
      redact,
    });
    const outputs = outputsOfRun(view, { result: "success", reason: "", deliveries });
    return { outputs, deliveries };
  } catch (error) {
    if (error instanceof JournalRefused) throw new Stop("failure", [error.message]);
    throw error;
  }
}

/** Returns why refused deliveries fail the step; empty: they don't. */
export function tellDeliveries(
  { core, inputs, say }: Setting,
  deliveries: readonly Delivery[],
): string {
  for (const delivery of deliveries) say(`Delivery: ${deliveryLine(delivery)}`);
  const refused = refusedOf(deliveries);
  reportReasons(core, "warning", refused);
  if (refused.length === 0 || inputs.failOn !== "refused") return "";
  const counts = `${refused.length} of ${deliveries.length}`;
  const reason = `Refused deliveries: ${counts} (\`fail-on: refused\`).\n${refused.join("\n")}`;
  say(reason);
  return reason;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
