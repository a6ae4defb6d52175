/** The outputs of the agents for people: a verdict, findings, reports, results and proposals. */
import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Finding, Origin, Proposal, Verdict } from "../../src/events/output-shapes.ts";
import type { GivenView } from "../../src/events/view.ts";
import {
  collectOutputs,
  previousOutcomes,
  type PreviousOutcome,
} from "../../src/outputs/collect.ts";
import { lineAddress } from "../../src/outputs/line-address.ts";
import { verdictTitle } from "../../src/outputs/verdict.ts";
import { patternOf } from "../model/search.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { Markdown } from "../parts/markdown.tsx";
import { RehearsalMark, type Tone } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";
import { useMarkedText } from "./marked-text.ts";

/** The number of entries that a list shows at first, and adds with each click. */
const STEP = 50;
/** Longer lists of reports or results are collapsed, so that the rest of the page stays visible. */
const FEW = 5;

const verdictTones: Readonly<Record<Verdict["verdict"], Tone>> = {
  pass: "ok",
  "needs-work": "warn",
  reject: "fail",
};
const severities: Readonly<Record<Finding["severity"], readonly [word: string, tone: Tone]>> = {
  error: ["Error", "fail"],
  warning: ["Warning", "warn"],
  notice: ["Notice", "run"],
};

export function HandedIn() {
  const { model, version } = useRunContext();
  const { view } = model;
  const { findings, omitted, verdict, proposals } = useMemo(
    () => collectOutputs(view),
    [view, version],
  );
  const previous = useMemo(() => previousOutcomes(view), [view, version]);
  const given = [...view.given.values()];
  const reports = given.filter(({ report }) => report !== undefined);
  const results = given.filter(({ result }) => result !== undefined);
  const isEmpty =
    findings.length + omitted + previous.length + proposals.length === 0 &&
    reports.length + results.length === 0;
  if (isEmpty && verdict === undefined) return null;
  return (
    <section class="card handed-in" aria-label="What the agents handed in">
      {verdict === undefined ? null : (
        <div class="note reason" data-tone={verdictTones[verdict.verdict]}>
          <h2 class="row">
            {verdictTitle(verdict)} <RehearsalMark rehearsed={view.rehearsed} />
          </h2>
          <p>{verdict.reason}</p>
        </div>
      )}
      {findings.length + omitted === 0 ? null : (
        <Findings
          findings={findings}
          omitted={omitted}
          origin={view.rehearsed ? undefined : view.plan?.origin}
        />
      )}
      {previous.length === 0 ? null : <Previous outcomes={previous} />}
      <Many what="report" given={reports} textOf={({ report }) => report?.markdown ?? ""}>
        {({ report, ...of }) => (
          <Collapsible
            key={keyOf(of)}
            summary={`Report of ${nameOf(of)}${report?.title === undefined ? "" : `: ${report.title}`}`}
            open={reports.length === 1}
          >
            <Markdown text={report?.markdown ?? ""} />
          </Collapsible>
        )}
      </Many>
      <Many what="result" given={results} textOf={({ result }) => JSON.stringify(result?.value)}>
        {({ result, ...of }) => (
          <Collapsible key={keyOf(of)} summary={`Result of ${nameOf(of)}`}>
            <CodeBlock
              text={JSON.stringify(result?.value, null, 2)}
              label={`result of ${nameOf(of)}`}
            />
          </Collapsible>
        )}
      </Many>
      {proposals.length === 0 ? null : <Proposals proposals={proposals} />}
    </section>
  );
}

/** The entries that match the search. */
function Many({
  what,
  given,
  textOf,
  children,
}: {
  what: string;
  given: readonly GivenView[];
  textOf: (one: GivenView) => string;
  children: (one: GivenView) => VNode;
}) {
  const [room, setRoom] = useState(STEP);
  const pattern = usePattern();
  if (given.length <= FEW) return <>{given.map(children)}</>;
  const found =
    pattern === undefined
      ? given
      : given.filter((one) => pattern.test(`${nameOf(one)}\n${textOf(one)}`));
  const all = plural(given.length, what);
  return (
    <Collapsible
      summary={
        pattern === undefined ? all : `${formatCount(found.length)} of ${all} match the search`
      }
    >
      {found.slice(0, room).map(children)}
      <ShowMore left={found.length - room} what={what} onClick={() => setRoom(room + STEP)} />
    </Collapsible>
  );
}

function usePattern(): RegExp | undefined {
  const wanted = useRunContext().query.trim();
  return useMemo(() => (wanted === "" ? undefined : patternOf(wanted)), [wanted]);
}

function ShowMore({ left, what, onClick }: { left: number; what: string; onClick: () => void }) {
  return left <= 0 ? null : (
    <button type="button" class="text-button" onClick={onClick}>
      Show more ({formatCount(left)} more {what}s)
    </button>
  );
}

type Of = Pick<GivenView, "taskId" | "items">;

function keyOf({ taskId, items }: Of): string {
  return JSON.stringify([taskId, ...items]);
}

function nameOf({ taskId, items }: Of): string {
  return [taskId, ...items].join(" › ");
}

function Findings({
  findings,
  omitted,
  origin,
}: {
  findings: readonly Finding[];
  omitted: number;
  origin: Origin | undefined;
}) {
  const { query } = useRunContext();
  const [room, setRoom] = useState(STEP);
  const list = useRef<HTMLUListElement>(null);
  const wanted = query.trim();
  const pattern = usePattern();
  const found =
    pattern === undefined ? findings : findings.filter((one) => pattern.test(textOf(one)));
  const shown = found.slice(0, room);
  useMarkedText(list, wanted, [shown]);
  const all = plural(findings.length + omitted, "finding");
  return (
    <>
      <h2 role={wanted === "" ? undefined : "status"}>
        {wanted === "" ? all : `${formatCount(found.length)} of ${all} match the search`}
      </h2>
      <ul ref={list} class="findings stack" aria-label="Findings">
        {shown.map((finding) => (
          <FindingRow
            key={finding.fingerprint + finding.rule}
            finding={finding}
            href={origin && lineAddress(finding, origin)}
          />
        ))}
      </ul>
      <ShowMore left={found.length - room} what="finding" onClick={() => setRoom(room + STEP)} />
      {omitted === 0 ? null : (
        <p class="muted small">
          {plural(omitted, "more finding")} above <code>outputs.findings.max</code>.
        </p>
      )}
    </>
  );
}

function textOf({
  path,
  line,
  severity,
  rule,
  title = "",
  message,
  suggestion = "",
  task,
}: Finding) {
  return [`${path}:${line}`, severity, rule, title, message, suggestion, task].join("\n");
}

function FindingRow({ finding, href }: { finding: Finding; href: string | undefined }) {
  const { path, line, endLine = line, severity, rule, title, message, suggestion, task } = finding;
  const [word, tone] = severities[severity];
  const place = `${path}:${line}${endLine > line ? `–${endLine}` : ""}`;
  return (
    <li data-tone={tone}>
      <p class="row wrap">
        <span class="badge" data-tone={tone}>
          {word}
        </span>
        {title === undefined ? null : <strong>{title}</strong>}
        {href === undefined ? (
          <code>{place}</code>
        ) : (
          <a href={href} target="_blank" rel="noreferrer noopener">
            <code>{place}</code>
          </a>
        )}
        <span class="muted small">{rule === task ? task : `${rule}, ${task}`}</span>
      </p>
      <Text text={message} />
      {suggestion === undefined ? null : (
        <Collapsible summary={suggestion === "" ? "Suggestion: delete it" : "Suggestion"}>
          <CodeBlock text={suggestion} label={`suggestion for ${place}`} />
        </Collapsible>
      )}
    </li>
  );
}

const previousTones: Readonly<Record<PreviousOutcome["kind"], Tone>> = {
  resolved: "ok",
  answered: "run",
  dismissed: "skip",
};

function Previous({ outcomes }: { outcomes: readonly PreviousOutcome[] }) {
  // One may be answered and dismissed.
  const { size } = new Set(outcomes.map(({ key }) => key));
  return (
    <>
      <h2>{plural(size, "earlier finding")}</h2>
      <ul class="findings stack" aria-label="Earlier findings">
        {outcomes.slice(0, STEP).map(({ kind, id, path, line, text }, index) => (
          <li key={index} data-tone={previousTones[kind]}>
            <p class="row wrap">
              <span class="badge" data-tone={previousTones[kind]}>
                {kind}
              </span>
              <code>{line === undefined ? path : `${path}:${line}`}</code>
              <span class="muted small">{id}</span>
            </p>
            <Text text={text} />
          </li>
        ))}
      </ul>
      {outcomes.length > STEP ? (
        <p class="muted small">And {formatCount(outcomes.length - STEP)} more.</p>
      ) : null}
    </>
  );
}

const LONG = 1_000;

function Text({ text }: { text: string }) {
  return text.length > LONG ? <CodeBlock text={text} label="message" /> : <p class="pre">{text}</p>;
}

function Proposals({
  proposals,
}: {
  proposals: readonly { readonly task: string; readonly proposal: Proposal }[];
}) {
  return (
    <>
      <h2>{plural(proposals.length, "proposal")}</h2>
      <ul class="findings stack" aria-label="Proposals">
        {proposals.slice(0, STEP).map(({ task, proposal }, index) => (
          <li key={index}>
            <p class="row wrap">
              <span class="badge" data-tone="skip">
                {kinds[proposal.kind]}
              </span>
              <strong>{subjectOf(proposal)}</strong>
              <span class="muted small">{task}</span>
            </p>
            {proposal.reason === undefined ? null : <Text text={proposal.reason} />}
            {"body" in proposal && proposal.body !== undefined ? (
              <Collapsible summary="Text">
                <Markdown text={proposal.body} />
              </Collapsible>
            ) : null}
            {"files" in proposal ? (
              <Collapsible summary={plural(proposal.files.length, "file")}>
                <CodeBlock text={proposal.files.map(fileLine).join("\n")} label="files" />
              </Collapsible>
            ) : null}
          </li>
        ))}
      </ul>
      {proposals.length > STEP ? (
        <p class="muted small">And {formatCount(proposals.length - STEP)} more.</p>
      ) : null}
    </>
  );
}

const kinds: Readonly<Record<Proposal["kind"], string>> = {
  comment: "Comment",
  label: "Label",
  reviewers: "Reviewers",
  issue: "Issue",
  pull_request: "Pull request",
  push: "Commit",
  close: "Close",
};

function subjectOf(proposal: Proposal): string {
  const at = "number" in proposal && proposal.number !== undefined ? `#${proposal.number}` : "";
  switch (proposal.kind) {
    case "issue":
    case "pull_request":
    case "push":
      return proposal.title;
    case "label":
      return `${proposal.labels.join(", ")} ${at}`.trim();
    case "reviewers":
      return `${proposal.reviewers.join(", ")} ${at}`.trim();
    case "comment":
    case "close":
      return at;
  }
}

function fileLine({ path, content }: { readonly path: string; readonly content: string | null }) {
  return content === null ? `${path} (deleted)` : path;
}
