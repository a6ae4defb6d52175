import type { Outputs } from "../entry/outputs.ts";
import type { Proposal } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import type { Publisher } from "./comments.ts";
import type { GithubPort } from "./github-port.ts";
import type { Made } from "./graphql.ts";
import { GithubFailure } from "./github-api.ts";
import type { Marker, MarkerKind } from "./markers.ts";

export interface Delivery {
  /** `report comment on #7` */
  readonly what: string;
  readonly status: "done" | "skipped" | "refused" | "staged";
  readonly reason?: string;
  readonly url?: string | undefined;
  /** The text that would be written, if it is staged. */
  readonly preview?: string | undefined;
}

export interface Deliverable extends Publisher {
  readonly view: RunView;
  readonly outputs: Outputs;
  readonly report: string | undefined;
}

export interface DeliveryOptions {
  /** Everything is looked up, and nothing is written. */
  readonly staged: boolean;
  /** The check run that was made when the job began. */
  readonly checkId?: number | undefined;
  /** The reason why the step of a job that succeeded fails, such as an incomplete journal. */
  readonly faults?: readonly string[] | undefined;
  readonly clock: { sleep(milliseconds: number): Promise<void>; now(): number };
}

/** No delivery begins later: GitHub may ask to wait a minute before each of hundreds of requests. */
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

/** A request. With `isMarked`, its text has a marker and is found again; otherwise, the request may be sent twice. */
export interface Step {
  readonly preview: string;
  readonly isMarked?: true;
  readonly send: () => Promise<Made>;
}

const pausesMs = [2_000, 10_000];

/** `find` looks for what an earlier request has made, so that it is made once although GitHub didn't answer. */
export async function write(
  { options }: Delivering,
  { what, preview }: Writing,
  send: () => Promise<Made & Pick<Delivery, "reason">>,
  find?: () => Promise<Made | undefined>,
): Promise<Delivery> {
  if (options.staged) return { what, status: "staged", preview };
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

const rateLimit = "a rate limit of GitHub is reached, so re-run the job later";

/** Why GitHub refuses something, by the words of its answer: the first one that fits. */
const causes: readonly (readonly [words: RegExp, cause: string])[] = [
  [
    /not permitted to create or approve/i,
    "the setting “Allow GitHub Actions to create and approve pull requests” is off (Settings → Actions → General of the repository or its organization)",
  ],
  [/rate limit|abuse|submitted too quickly/i, rateLimit],
  [
    /protected|rule violation|ruleset|locked branch|branch is locked|through a pull request/i,
    "a branch protection or ruleset forbids it",
  ],
  [/\block(ed|s)?\b/i, "the conversation is locked"],
  [/archived/i, "the repository is archived"],
  [
    /authenticate via a github app/i,
    "only the built-in token and the token of an App can make check runs",
  ],
  [/bad credentials/i, "the token is not valid, or has expired"],
  [
    /without `?workflows?`? (permission|scope)/i,
    "needs `workflows: write`, which only the token of an App or a person can have",
  ],
];

export function reasonOf({ message, status }: GithubFailure, needs: string): string {
  const [, known] = causes.find(([words]) => words.test(message)) ?? [];
  const isForbidden = status === 403 || status === 404;
  const cause = status === 429 ? rateLimit : (known ?? (isForbidden ? `needs ${needs}` : ""));
  return cause === "" ? message : `${cause}: ${message}`;
}

/** Logs a refusal and continues with the next delivery. */
export async function attempt<Done>(
  { options, deadline }: Delivering,
  { what, needs }: Writing,
  deliver: () => Promise<Done>,
): Promise<Done | Delivery> {
  if (options.clock.now() > deadline)
    return refused(what, `delivery has taken ${longestMinutes} minutes already`);
  try {
    return await deliver();
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    return refused(what, reasonOf(error, needs));
  }
}
