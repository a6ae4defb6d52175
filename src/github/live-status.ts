/**
 * What GitHub shows of a job while it runs: a check run in progress, and the sticky comment with the steps above the last
 * report. Owns that neither says "running" after the job has ended: whatever the delivery has not completed, `end` does.
 * A fault of GitHub is logged and changes nothing for the job.
 */
import type { Outputs } from "../entry/outputs.ts";
import type { Reporter } from "../events/sink.ts";
import { isFailure, itemsText, worksOf, type RunView } from "../events/view.ts";
import { elapsedMs } from "../events/view-works.ts";
import { errorMessage } from "../platform/system-error.ts";
import { startTimer, within, type Release } from "../platform/waiting.ts";
import type { Clock } from "../platform/clock.ts";
import { code, inline, sentence } from "../text/harmless-text.ts";
import { defined } from "../text/guards.ts";
import { plural, durationText } from "../text/numbers.ts";
import type { CheckText, Conclusion, NewCheck, OwnCheck } from "./check-port.ts";
import { bodyOf, maxBody, runLink, type Publisher } from "./comments.ts";
import { checkNeeds, newCheck, titleText } from "./deliver-check.ts";
import { reasonOf } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import type { GithubPort } from "./github-port.ts";
import { result, tableHead, tableRow } from "./layout.ts";
import { codeText } from "./markdown.ts";
import { markerOf, readMarkerOf, type Marker } from "./markers.ts";

const PACE_MS = 15_000;
/** A request that is under way may take so long before it is given up. */
const PATIENCE_MS = 10_000;
/** The runner kills a canceled step after seconds. */
const HURRY_MS = 500;
const MAX_STEPS = 100;
const MAX_REASON = 1_000;

export interface LiveOptions {
  readonly about: Publisher;
  readonly outputs: Outputs;
  /** Doesn't wait and retry as a delivery does. Aborted: nothing more is sent. */
  readonly connect: (signal?: AbortSignal) => GithubPort;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Called when GitHub shows the job as running no more. */
  readonly onEnded?: () => void;
}

export interface End {
  readonly conclusion: Conclusion;
  readonly reason: string;
}

interface Writer {
  readonly what: string;
  readonly needs: string;
  /** `conclusion`: the job has ended. */
  readonly send: (port: GithubPort, text: CheckText, conclusion?: Conclusion) => Promise<void>;
}

export function showsProgress(outputs: Outputs): boolean {
  return outputs.check !== undefined || hasProgress(outputs);
}

function hasProgress({ report }: Outputs): boolean {
  return report?.comment !== undefined && report.progress === true;
}

export class LiveStatus {
  readonly #options: LiveOptions;
  readonly #writers: Writer[] = [];
  readonly #refused = new Set<Writer>();
  readonly #over = new AbortController();
  readonly #port: GithubPort;
  #view: RunView | undefined;
  #shown = "";
  #sending: Promise<void> = Promise.resolve();
  #next: Release | undefined;
  #lastAt = 0;
  #checkId: number | undefined;
  #ended: Promise<boolean> | undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#port = options.connect(this.#over.signal);
    const { about, outputs } = options;
    const { isPullRequest, number } = about.origin;
    const check = newCheck(about, outputs.check);
    if (check !== undefined) this.#writers.push(this.#check(check));
    if (hasProgress(outputs) && isPullRequest === true && number !== undefined)
      this.#writers.push(this.#comment(number));
  }

  /** The check run that was made, for its delivery. */
  get checkId(): number | undefined {
    return this.#checkId;
  }

  readonly reporter: Reporter = {
    name: "progress on GitHub",
    report: ({ type }, view) => {
      this.#view = view;
      if (type === "run.started") this.#schedule(0);
      else if (type === "work.started" || type === "work.ended" || type === "items.listed")
        this.#schedule(this.#lastAt + PACE_MS - this.#options.clock.now());
      else if (type === "run.ended") this.#stopScheduling();
    },
  };

  /** Must be called before the agents start, which don't wait long for GitHub. */
  async begin(): Promise<void> {
    const page = { title: "The job is starting", summary: this.#page("is starting") };
    this.#sending = this.#send(page);
    await within(this.#sending, PATIENCE_MS, this.#options.clock);
  }

  /** Nothing is updated any more. Must be called before the delivery. */
  async stop(patienceMs = PATIENCE_MS): Promise<void> {
    this.#stopScheduling();
    await within(this.#sending, patienceMs, this.#options.clock);
    this.#over.abort();
  }

  /** Ends what the delivery has not ended. The first call counts. False: GitHub may still show something. */
  end(end: End): Promise<boolean> {
    return (this.#ended ??= this.#end(end));
  }

  async #end({ conclusion, reason }: End): Promise<boolean> {
    if (this.#shown !== "") await this.stop(HURRY_MS);
    const port = this.#options.connect();
    const word = ends[conclusion];
    const text = {
      title: titleText(`The job ${word}${reason === "" ? "" : `: ${reason}`}`),
      summary: this.#page(word, reason),
    };
    const isEnded = await this.#each((writer) => writer.send(port, text, conclusion));
    if (isEnded) this.#options.onEnded?.();
    return isEnded;
  }

  /** Nobody has judged the commit, and a stranger's event doesn't replace an earlier judgement. */
  async skip(reason: string): Promise<void> {
    const { about, outputs, connect } = this.#options;
    const check = newCheck(about, outputs.check);
    if (check === undefined || (await connect().ownChecks(check)).length > 0) return;
    await this.end({ conclusion: "neutral", reason });
  }

  #schedule(afterMs: number): void {
    if (this.#over.signal.aborted || this.#next !== undefined) return;
    const { clock } = this.#options;
    this.#next = startTimer(clock, Math.max(0, afterMs), () => {
      this.#sending = this.#sending.then(async () => {
        this.#next = undefined;
        this.#lastAt = clock.now();
        if (this.#view?.status !== "running" || this.#over.signal.aborted) return;
        const { title, table } = stepsOf(this.#view);
        await this.#send({ title, summary: this.#page("is running", "", table) });
      });
    });
  }

  #stopScheduling(): void {
    this.#next?.();
    this.#next = undefined;
  }

  async #send(text: CheckText): Promise<void> {
    if (text.summary === this.#shown) return;
    this.#shown = text.summary;
    this.#lastAt = this.#options.clock.now();
    await this.#each((writer) => writer.send(this.#port, text));
  }

  async #each(write: (writer: Writer) => Promise<unknown>): Promise<boolean> {
    const done = await Promise.all(
      this.#writers.map(async (writer) => {
        if (this.#refused.has(writer)) return true;
        try {
          await write(writer);
          return true;
        } catch (error) {
          const isFailure = error instanceof GithubFailure;
          // It stays refused: the delivery makes a warning of it.
          if (isFailure && !error.isUncertain && error.status !== 429) this.#refused.add(writer);
          const why = isFailure ? reasonOf(error, writer.needs) : errorMessage(error);
          if (!this.#over.signal.aborted)
            this.#options.log(`Can't show the progress in the ${writer.what}: ${why}`);
          return false;
        }
      }),
    );
    return !done.includes(false);
  }

  #page(word: string, reason = "", table = ""): string {
    const { about } = this.#options;
    const { origin } = about;
    return [
      `### Job ${codeText(about.job, 100)} ${word}`,
      sentence(reason, MAX_REASON),
      table,
      `<sub>commit ${codeText(origin.head.slice(0, 12), 12)} · ${runLink(origin, "run")}</sub>`,
    ]
      .filter((part) => part !== "")
      .join("\n\n");
  }

  #check(check: NewCheck): Writer {
    let isAsked = false;
    return {
      what: "check run",
      needs: checkNeeds,
      send: async (port, text, conclusion) => {
        const isEnd = conclusion !== undefined;
        const id = this.#checkId;
        // GitHub may have made it without an answer.
        let known: Pick<OwnCheck, "id" | "isCompleted"> | undefined;
        if (id !== undefined) known = isEnd ? await port.checkAt(id) : { id, isCompleted: false };
        else if (isAsked || isEnd) known = await port.checkOf(check);
        isAsked = true;
        this.#checkId = known?.id;
        if (known === undefined) this.#checkId = await port.createCheck(check, text, conclusion);
        else if (!isEnd || !known.isCompleted) await port.updateCheck(known.id, text, conclusion);
      },
    };
  }

  #comment(number: number): Writer {
    const { about } = this.#options;
    const owner = { ...about, leg: about.origin.leg };
    const running = `${about.origin.workflowRun}/${about.origin.attempt}`;
    let isShown = false;
    return {
      what: "comment",
      needs: "`pull-requests: write`",
      send: async (port, { summary }, conclusion) => {
        const isEnd = conclusion !== undefined;
        const ours = (await port.ownComments(number)).flatMap(({ id, body }) => {
          const marker = readMarkerOf(body, "report", owner);
          return marker === undefined ? [] : [{ id, body, marker }];
        });
        const [found] = ours;
        // Another run has taken the comment over, or has put its report there.
        if ((isShown || isEnd) && found?.marker.status !== running) return;
        const first = { kind: "report", job: about.job, entry: about.entry } as const;
        const marker = found?.marker ?? { ...first, ...defined({ leg: about.origin.leg }) };
        const status = isEnd ? "ended" : running;
        const body = bodyWith(summary, found?.body ?? "", { ...marker, status }, marker.status);
        if (found === undefined) await port.createComment(number, body);
        else await port.updateComment(found.id, body);
        isShown = true;
      },
    };
  }
}

/** The last report stays below, with its marker: it is the one that the next report follows. `status`: of the marker before. */
function bodyWith(
  page: string,
  earlier: string,
  marker: Marker,
  status: string | undefined,
): string {
  const content = earlier.split("\n").slice(1).join("\n");
  const [, ...below] = content.split(`\n${DIVIDER}\n`);
  const report = (status === undefined ? content : below.join(`\n${DIVIDER}\n`)).trim();
  const above = report === "" ? page : `${page}\n\n---\n\nThe last report:`;
  const body = bodyOf(markerOf(marker), [above, DIVIDER, report]);
  return body.length <= maxBody ? body : bodyOf(markerOf(marker), [page, DIVIDER]);
}

const DIVIDER = "<!-- agent-jobs: the last report -->";

const ends: Readonly<Record<Conclusion, string>> = {
  success: "succeeded",
  failure: "failed",
  neutral: "was skipped",
  cancelled: "was canceled",
};

/** The part that changes only when a step does: it shows no running time. */
function stepsOf(view: RunView): { readonly title: string; readonly table: string } {
  const works = worksOf(view);
  const ended = works.filter(({ status }) => status !== "pending" && status !== "running");
  const failed = works.filter(isFailure).length;
  const rows = works.slice(0, MAX_STEPS).map((work) => {
    const { sign, word } = result(work);
    const items = work.itemCount > 0 ? ` ${inline(itemsText(work), 200)}` : "";
    const time =
      work.status === "running" || work.runs === 0 ? "" : durationText(elapsedMs(work, 0));
    return [code(work.taskId, 80) + items, `${sign} ${word}`, time];
  });
  const left = works.length - rows.length;
  if (left > 0) rows.push([`and ${left} more`, "", ""]);
  return {
    title: `${ended.length} of ${plural(works.length, "step")} done${failed > 0 ? `, ${failed} failed` : ""}`,
    table: (tableHead(["Step", "Status", "Time:"]) + rows.map(tableRow).join("")).trimEnd(),
  };
}
