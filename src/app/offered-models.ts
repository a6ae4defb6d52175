/** The models that can be chosen: those that the account or the model server offers, and those that an entry names. */
import type { PreparedEntry } from "../entry/model.ts";
import { taskWorks } from "../entry/work.ts";
import type { Clock } from "../events/clock.ts";
import type { OfferedModel } from "../sessions/offered-models.ts";

/** To ask an account may take a start of the runtime. */
const MODELS_KEPT_MS = 60_000;

/** Asks for the models at most once a minute. */
export class OfferedModels {
  readonly #clock: Clock;
  readonly #ask: () => Promise<readonly OfferedModel[]>;
  #offered: { readonly at: number; readonly models: Promise<readonly OfferedModel[]> } | undefined;

  constructor(clock: Clock, ask: () => Promise<readonly OfferedModel[]>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** None if nobody can be asked. */
  async list(): Promise<readonly OfferedModel[]> {
    const now = this.#clock.now();
    if (this.#offered === undefined || now - this.#offered.at > MODELS_KEPT_MS)
      this.#offered = { at: now, models: this.#ask() };
    const asked = this.#offered;
    const offered = await asked.models.catch(() => []);
    if (offered.length === 0 && this.#offered === asked) this.#offered = undefined;
    return offered;
  }
}

/** The ids of the models that an entry names. */
export function modelsNamedBy(entry: PreparedEntry): readonly string[] {
  const { models, tasks, jobs, drivingSessionRetries = [] } = entry;
  const ofTasks = Object.values(tasks).map(({ model }) => model);
  const ofWorks = Object.values(jobs).flatMap(({ work }) =>
    taskWorks<number>(work).map(({ modelOverride }) => modelOverride),
  );
  const named = [...ofTasks, ...ofWorks].flatMap((model) =>
    model !== undefined && "id" in model ? [model.id] : [],
  );
  const ofRetries = drivingSessionRetries.map(({ modelId }) => modelId);
  const all = [...Object.values(models), ...ofRetries, ...named];
  // A workflow that names no model has an empty one.
  return [...new Set(all)].filter((id) => id !== "");
}
