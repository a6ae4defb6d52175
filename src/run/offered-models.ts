import {
  type Diagnostic,
  toDiagnostics,
  type Path,
  type Place,
  type Problem,
  suggestion,
} from "../document/diagnostic.ts";
import { entryCheck } from "../entry/problems.ts";
import { idOf, type Model, type PreparedEntry } from "../entry/model.ts";
import { taskWorks } from "../entry/work.ts";
import type { Clock } from "../platform/clock.ts";
import { systemClock } from "../platform/system-clock.ts";
import {
  ContextLengths,
  type OfferedModel,
  whyNoModels,
  withoutLatest,
} from "../sessions/offered-models.ts";
import { type ModelAccess, providerOf } from "./options-provider.ts";
import type { ReadEntry } from "./flows.ts";
import { guessText } from "./options.ts";

export type { OfferedModel };

/** To ask an account may take a start of the runtime. */
const MODELS_KEPT_MS = 60_000;

/** Asks for the models at most once a minute. None if nobody can be asked. */
export function modelsOnceAMinute(
  clock: Clock,
  ask: () => Promise<readonly OfferedModel[]>,
): () => Promise<readonly OfferedModel[]> {
  let last: { readonly at: number; readonly models: Promise<readonly OfferedModel[]> } | undefined;
  return async () => {
    const now = clock.now();
    if (last === undefined || now - last.at > MODELS_KEPT_MS) last = { at: now, models: ask() };
    const asked = last;
    const offered = await asked.models.catch(() => []);
    if (offered.length === 0 && last === asked) last = undefined;
    return offered;
  };
}

export const NONE_LISTED = "The models can't be checked, because none are listed.";

/** The listed models; if there are none, with a reason. */
export interface Offered {
  readonly offered: readonly OfferedModel[];
  readonly reason?: string;
}

/** How many tokens the model reads, if its server tells. */
export async function contextOf(access: ModelAccess, id: string): Promise<number | undefined> {
  const provider = providerOf(access);
  const { environment } = access;
  return provider && new ContextLengths({ clock: systemClock, environment }).of(provider, id);
}

/** Why none are listed, and what to do. */
export async function whyNoneListed(access: ModelAccess): Promise<string> {
  const provider = providerOf(access);
  return provider === undefined
    ? "GitHub Copilot lists no models. Check the token and its permissions, and the network."
    : whyNoModels(provider, access.environment, systemClock);
}

function notOffered(id: string): string {
  return `The model ${JSON.stringify(id)} is not offered.`;
}

export function unofferedModel(id: string, offered: readonly OfferedModel[]): string | undefined {
  const ids = offered.map((model) => model.id);
  if (ids.map(withoutLatest).includes(withoutLatest(id))) return undefined;
  return notOffered(id) + guessText(id, ids);
}

interface NamedModel {
  readonly path: Path;
  readonly id: string;
}

export function modelsNamedBy(entry: PreparedEntry): readonly string[] {
  return [...new Set(namedModels(entry).map(({ id }) => id))];
}

/** The models that an entry names but that are not offered. None if nothing is listed: not every server does that. */
export function unofferedModels(
  { entry, flows }: Pick<ReadEntry, "entry" | "flows">,
  offered: readonly OfferedModel[],
  place: Place = {},
): Diagnostic[] {
  const ids = new Set(offered.map(({ id }) => id));
  if (ids.size === 0) return [];
  const problem = ({ path, id }: NamedModel): Problem => ({
    path,
    codePath: entryCheck.codePath(path),
    reason: notOffered(id),
    ...suggestion(id, ids),
  });
  const known = new Set([...ids].map(withoutLatest));
  const isUnknown = ({ id }: NamedModel): boolean => !known.has(withoutLatest(id));
  const found = toDiagnostics(namedModels(entry).filter(isUnknown).map(problem), place);
  const ofEntry = new Set(modelsNamedBy(entry));
  // If the entry is a workflow, its models are reported for the entry.
  const ofFlows = Object.values(flows).flatMap((flow) => {
    const { workflow } = flow;
    const id = flow.modelIn(entry);
    const named = { path: ["model"], id };
    if (id === "" || ofEntry.has(id) || !isUnknown(named)) return [];
    return toDiagnostics([{ ...problem(named), codePath: "model" }], { file: workflow.file });
  });
  return [...found, ...ofFlows];
}

function namedModels(entry: PreparedEntry): readonly NamedModel[] {
  const { models, tasks, jobs, drivingSessionRetries = [] } = entry;
  const byId = (path: Path, model: Model | undefined): readonly NamedModel[] =>
    model !== undefined && "id" in model ? [{ path: [...path, "id"], id: model.id }] : [];
  const all = [
    ...Object.entries(models).map(([category, model]) => ({
      path: ["models", category, ...(typeof model === "string" ? [] : ["id"])],
      id: idOf(model),
    })),
    ...drivingSessionRetries.map(({ modelId: id }, index) => ({
      path: ["drivingSessionRetries", index, "modelId"],
      id,
    })),
    ...Object.entries(tasks).flatMap(([name, { model }]) => byId(["tasks", name, "model"], model)),
    // A prepared entry doesn't tell where its works were written.
    ...Object.entries(jobs).flatMap(([name, { work }]) =>
      taskWorks<number>(work).flatMap(({ modelOverride: model }) =>
        model !== undefined && "id" in model
          ? [{ path: ["jobs", name, "work"], id: model.id }]
          : [],
      ),
    ),
  ];
  // A workflow that names no model has an empty one.
  return all.filter(({ id }) => id !== "");
}
