import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { outputsOf } from "../entry/outputs.ts";
import type { RunView } from "../events/view.ts";
import type { Origin } from "../events/output-shapes.ts";
import { deliverJournal, JournalRefused } from "../github/deliver-journal.ts";
import { originOf } from "../github/origin.ts";
import { createGithubPort } from "../github/writer.ts";
import { asksForDelivery, deliver } from "../outputs/deliver.ts";
import { skipped, type Delivery } from "../outputs/delivery.ts";
import { offlinePort } from "../outputs/github-port.ts";
import { systemClock } from "../platform/system-clock.ts";
import { deliveriesMarkdown, deliveryLine } from "../reports/github/deliveries.ts";
import { jobReport } from "../reports/run-json.ts";
import type { RunReport } from "../run/execute.ts";
import type { PreparedRun } from "../run/prepare.ts";
import { deliveriesText, outputsOf as outputsOfRun } from "../reports/github/step-outputs.ts";
import { sayLine, type Outputs } from "./github.ts";
import { apiOf, type Paths, type Setting } from "./preparation.ts";
import { Stop } from "./stop.ts";

/** Where the run belongs. The API is only asked if the job publishes something there, and never by a rehearsal. */
export function originOfRun(
  setting: Setting,
  { entry, jobName }: PreparedRun,
): Promise<Origin | undefined> {
  const { inputs } = setting;
  const asks = inputs.rehearse === undefined && asksForDelivery(outputsOf(entry, jobName) ?? {});
  return originOf(setting.environment, asks ? apiOf(setting).api : undefined);
}

export async function deliverRun(
  setting: Setting,
  paths: Paths,
  prepared: PreparedRun,
  { view }: RunReport,
  redact: (text: string) => string,
): Promise<Pick<Outputs, "deliveries" | "journal-digest">> {
  const deliveries = await deliveriesOf(setting, paths, prepared, view, redact);
  await tellDeliveries(setting, deliveries);
  const { journal } = paths;
  return {
    deliveries: deliveriesText(deliveries),
    // A journal that is gone by now is said to be incomplete.
    "journal-digest": journal === undefined ? "" : await digestOf(journal).catch(() => ""),
  };
}

async function deliveriesOf(
  setting: Setting,
  { entry, rehearse }: Paths,
  { entry: loaded, jobName: job, fanOut }: PreparedRun,
  view: RunView,
  redact: (text: string) => string,
): Promise<readonly Delivery[]> {
  const outputs = outputsOf(loaded, job) ?? {};
  const origin = view.plan?.origin;
  // The merge delivers for all of them.
  if (!asksForDelivery(outputs) || fanOut?.kind === "part") return [];
  if (origin === undefined)
    return [skipped("everything", "GITHUB_REPOSITORY or GITHUB_RUN_ID is not set")];
  const about = { view, outputs, origin, entry, job, report: jobReport(view) };
  const staged = rehearse !== undefined || setting.inputs.staged;
  const port =
    rehearse === undefined
      ? createGithubPort(apiOf(setting).api, origin.repository, redact)
      : offlinePort(origin);
  return deliver(about, port, { staged, clock: systemClock });
}

export async function deliverFromJournal(
  setting: Setting,
  paths: Paths,
  redact: (text: string) => string,
): Promise<Outputs> {
  const { inputs, environment } = setting;
  const { api } = apiOf(setting);
  try {
    const { view, deliveries } = await deliverJournal({
      journal: paths.fromJournal ?? "",
      entry: paths.entry,
      job: inputs.job,
      digest: inputs.journalDigest,
      staged: inputs.staged,
      environment,
      api,
      redact,
    });
    await tellDeliveries(setting, deliveries);
    return outputsOfRun(view, { result: "success", reason: "", deliveries });
  } catch (error) {
    if (error instanceof JournalRefused) throw new Stop("failure", [error.message]);
    throw error;
  }
}

async function tellDeliveries(
  { core, inputs }: Setting,
  deliveries: readonly Delivery[],
): Promise<void> {
  for (const delivery of deliveries) sayLine(core, `Delivery: ${deliveryLine(delivery)}`);
  if (deliveries.length > 0 && inputs.summary !== "off")
    await core.addSummary(deliveriesMarkdown(deliveries));
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
