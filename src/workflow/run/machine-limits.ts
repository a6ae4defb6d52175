/** The limits that the interpreter itself enforces. */
import { defined } from "../../document/guards.ts";
import { defaultLimits, type Limits } from "../../entry/model.ts";
import type { ExceededLimit } from "../../events/exceeded-limit.ts";

type MachineLimit =
  "activityHits" | "activities" | "callDepth" | "promptCharacters" | "outputCharacters";

export type MachineLimits = Pick<Limits, MachineLimit> & {
  /** What has set them, for texts. */
  readonly setBy?: { readonly [Name in keyof Limits]?: string };
};

export class Bounds {
  readonly #limits: MachineLimits;

  constructor(limits: MachineLimits = {}) {
    this.#limits = limits;
  }

  of(limit: MachineLimit): ExceededLimit {
    const { setBy = {}, [limit]: value = defaultLimits[limit] } = this.#limits;
    const source = setBy[limit];
    return { limit, value, ...defined({ setBy: source }) };
  }

  /** A file may ask for more, or fewer, with a parameter or a variable. */
  hits(variables: Readonly<Record<string, string>>): ExceededLimit {
    const name = "MAX_ACTIVITY_HITS";
    const written = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = Number(written?.trim() || "none");
    return Number.isInteger(value) && value > 0
      ? { limit: "activityHits", value, setBy: name }
      : this.of("activityHits");
  }
}
