import { defined } from "../document/guards.ts";
import type { Outputs } from "../entry/outputs.ts";
import type { Proposal } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import type { Publisher } from "./comment-parts.ts";
import { GithubFailure, type GithubPort, type Made } from "./github-port.ts";
import type { Marker, MarkerKind } from "./markers.ts";

export interface Delivery {
  /** `report comment on #7` */
  readonly what: string;
  readonly status: "done" | "skipped" | "refused" | "staged";
  readonly reason?: string;
  readonly url?: string;
  /** Of what is staged: the text that would be written. */
  readonly preview?: string;
}

export interface Deliverable extends Publisher {
  readonly view: RunView;
  readonly outputs: Outputs;
  readonly report: string | undefined;
}

export interface DeliveryOptions {
  /** Everything is looked up, and nothing is written. */
  readonly staged: boolean;
  readonly clock: { sleep(milliseconds: number): Promise<void>; now(): number };
}

/** Nothing new is begun after it: GitHub may ask to wait a minute before each of hundreds of requests. */
const longestMinutes = 15;

export function deadlineOf({ clock }: DeliveryOptions): number {
  return clock.now() + longestMinutes * 60_000;
}

export interface Delivering {
  readonly about: Deliverable;
  readonly github: GithubPort;
  readonly options: DeliveryOptions;
  readonly deadline: number;
  /** The proposals that this or an earlier attempt of the workflow run has published, by kind and key. */
  readonly published: Map<Proposal["kind"], Map<string, Made>>;
  /** The marker of a body, if it is of this job, leg and kind. */
  readonly ours: (body: string, kind: MarkerKind) => Marker | undefined;
}

export interface Writing {
  readonly what: string;
  /** The permissions of the token, for a refusal. */
  readonly needs: string;
  readonly preview?: string;
}

const pausesMs = [2_000, 10_000];

/** With `find`, which tells what an earlier request has made, something is made once, also if GitHub doesn't answer. */
export async function write(
  { options }: Delivering,
  { what, preview }: Writing,
  send: () => Promise<Made>,
  find?: () => Promise<Made | undefined>,
): Promise<Delivery> {
  if (options.staged) return { what, status: "staged", ...defined({ preview }) };
  for (let round = 0; ; round += 1) {
    try {
      return { what, status: "done", ...(await send()) };
    } catch (error) {
      const wait = pausesMs[round];
      const isUncertain = error instanceof GithubFailure && error.isUncertain;
      if (find === undefined || !isUncertain || wait === undefined) throw error;
      await options.clock.sleep(wait);
      const found = await find();
      if (found !== undefined) return { what, status: "done", ...found };
    }
  }
}

export function skipped(what: string, reason: string): Delivery {
  return { what, status: "skipped", reason };
}

export function refused(what: string, reason: string): Delivery {
  return { what, status: "refused", reason };
}

/** What GitHub refuses is said, and the next delivery is tried. */
export async function attempt(
  { options, deadline }: Delivering,
  { what, needs }: Writing,
  deliver: () => Promise<Delivery>,
): Promise<Delivery> {
  if (options.clock.now() > deadline)
    return refused(what, `delivery has taken ${longestMinutes} minutes already`);
  try {
    return await deliver();
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    const isForbidden = error.status !== undefined && [401, 403, 404].includes(error.status);
    return refused(what, isForbidden ? `needs ${needs}: ${error.message}` : error.message);
  }
}
