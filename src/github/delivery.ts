/** What a delivery is, how each one is made (looked up, written once, and logged), and how it is shown. */
import type { Outputs } from "../entry/outputs.ts";
import type { RunView } from "../events/view.ts";
import { codeBlock, inline, oneLine } from "../text/harmless-text.ts";
import type { Publisher } from "./comments.ts";
import type { GithubPort, Made } from "./github-port.ts";
import { GithubFailure } from "./github-api.ts";
import type { Section } from "./layout.ts";
import { readMarkerOf, type Marker, type MarkerKind } from "./markers.ts";

export interface Delivery {
  /** `report comment on #7` */
  readonly what: string;
  readonly status: "done" | "skipped" | "refused" | "staged";
  /** The counts of a review are added when the rest of it is done. */
  reason?: string;
  readonly url?: string | undefined;
  /** The text that would be written, if it is staged. */
  readonly preview?: string | undefined;
}

export type Outcome = Omit<Delivery, "what">;

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

const pausesMs = [2_000, 10_000];

/** The deliveries of a run, in their order. A refusal doesn't keep the next one from being made. */
export class Delivering {
  readonly about: Deliverable;
  readonly github: GithubPort;
  readonly options: DeliveryOptions;
  readonly deliveries: Delivery[] = [];
  readonly #deadline: number;

  constructor(about: Deliverable, github: GithubPort, options: DeliveryOptions) {
    this.about = about;
    this.github = github;
    this.options = options;
    this.#deadline = options.clock.now() + longestMinutes * 60_000;
  }

  /** The pull request of the run. */
  get pull(): number | undefined {
    const { isPullRequest, number } = this.about.origin;
    return isPullRequest === true ? number : undefined;
  }

  /** The marker of a body, if it is of this job, leg and kind. */
  ours(body: string, kind: MarkerKind): Marker | undefined {
    return readMarkerOf(body, kind, { ...this.about, leg: this.about.origin.leg });
  }

  log(what: string, outcome: Outcome): void {
    this.deliveries.push({ what, ...outcome });
  }

  /** `needs`: the permissions of the token, for a refusal. */
  async deliver(what: string, needs: string, make: () => Promise<Outcome>): Promise<void> {
    this.log(what, await this.attempt(needs, make));
  }

  /** The answer. Undefined if GitHub refuses it, which is logged. */
  async read<Answer>(
    what: string,
    needs: string,
    ask: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const found = await this.attempt(needs, async () => ({ answer: await ask() }));
    if ("answer" in found) return found.answer;
    this.log(what, found);
    return undefined;
  }

  async attempt<Done>(needs: string, ask: () => Promise<Done>): Promise<Done | Outcome> {
    if (this.options.clock.now() > this.#deadline)
      return refused(`delivery has taken ${longestMinutes} minutes already`);
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GithubFailure)) throw error;
      return refused(reasonOf(error, needs));
    }
  }

  /** `find` looks for what an earlier request has made, so that it is made once although GitHub didn't answer. */
  async write(
    preview: string | undefined,
    send: () => Promise<Made & Pick<Delivery, "reason">>,
    find?: () => Promise<Made | undefined>,
  ): Promise<Outcome> {
    if (this.options.staged) return { status: "staged", preview };
    for (let round = 0; ; round += 1) {
      try {
        return { status: "done", ...(await send()) };
      } catch (error) {
        const wait = pausesMs[round];
        const isUncertain = error instanceof GithubFailure && error.isUncertain;
        if (find === undefined || !isUncertain || wait === undefined) throw error;
        await this.options.clock.sleep(wait);
        const found = await find();
        if (found !== undefined) return { status: "done", ...found };
      }
    }
  }
}

export function skipped(reason: string): Outcome {
  return { status: "skipped", reason };
}

export function refused(reason: string): Outcome {
  return { status: "refused", reason };
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

const words: Readonly<Record<Delivery["status"], readonly [sign: string, word: string]>> = {
  done: ["✓", "done"],
  skipped: ["–", "skipped"],
  refused: ["✗", "refused"],
  staged: ["…", "staged, not written"],
};

export function deliveryLine({ what, status, reason, url }: Delivery): string {
  const why = reason === undefined ? "" : `: ${reason}`;
  return oneLine(`${what}: ${words[status][1]}${why}${url === undefined ? "" : ` (${url})`}`, 1000);
}

export function refusedOf(deliveries: readonly Delivery[]): readonly string[] {
  return deliveries.filter(({ status }) => status === "refused").map(deliveryLine);
}

const MAX_REFUSED = 10;

/** They stand below the heading of the page, since nobody looks for them. */
export function refusedMarkdown(deliveries: readonly Delivery[]): readonly string[] {
  const all = refusedOf(deliveries).map((line) => `**Not delivered:** ${inline(line, 1000)}`);
  const left = all.length - MAX_REFUSED;
  return left > 0 ? [...all.slice(0, MAX_REFUSED), `…and ${left} more, listed below.`] : all;
}

/** The summary of a step that does nothing else. */
export function deliveryPage(deliveries: readonly Delivery[]): string {
  const { heading, text } = deliveriesSection(deliveries);
  return ["## Delivery", ...refusedMarkdown(deliveries), heading, text, ""].join("\n\n");
}

const MAX_PREVIEWS = 100_000;

export function deliveriesSection(deliveries: readonly Delivery[]): Section {
  let room = MAX_PREVIEWS;
  const items = deliveries.map((delivery) => {
    const line = `- ${words[delivery.status][0]} ${inline(deliveryLine(delivery), 1000)}`;
    const { preview = "" } = delivery;
    if (preview === "" || Buffer.byteLength(preview) > room) return line;
    room -= Buffer.byteLength(preview);
    const text = codeBlock(preview, "text").replaceAll("\n", "\n  ");
    return `${line}\n  <details>\n  <summary>Preview</summary>\n\n  ${text}\n\n  </details>`;
  });
  return { name: "the deliveries", rank: 2, heading: "### Delivered", text: items.join("\n") };
}
