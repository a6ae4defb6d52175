/** The head of a run: its name, its outcome, its figures and its plan. */
import { changeText, instructionsText, type RunPlan } from "../../src/events/plan.ts";
import { costWords } from "../../src/text/numbers.ts";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Permissions } from "../../src/entry/model.ts";
import type { RunView } from "../../src/events/view.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatCount, formatDuration, formatExact } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PageHeading } from "../parts/notes.tsx";
import { RehearsalMark, StatusBadge } from "../parts/status.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { targetOf } from "../model/places.ts";
import { placeHref, useRunContext, useRunTime, runState, type RunActions } from "./context.ts";

export function RunHead() {
  const { model, feed, actions, live } = useRunContext();
  const { view } = model;
  const isLost = feed.kind === "open" && feed.connection === "lost";
  const state = runState(view, feed);
  return (
    <div>
      <PageHeading
        eyebrow={<Origin view={view} />}
        actions={actions && <Actions actions={actions} />}
      >
        <span>{view.jobName === "" ? "Run" : view.jobName}</span>
        <StatusBadge status={state.status} word={state.word} />
        <RehearsalMark rehearsed={view.rehearsed} />
        {live && !isLost ? <span class="live-badge">live</span> : null}
      </PageHeading>
      <p class="connection-lost" role="status">
        {live && isLost ? "Connection lost. Reconnecting… What is shown may be out of date." : ""}
      </p>
      <p class="hidden-text" role="status">
        {live || feed.kind === "reading" ? "" : `The run has ended: ${state.word}`}
      </p>
      <Reason />
      <Omissions view={view} />
      <Facts view={view} />
      {view.plan && <Plan plan={view.plan} />}
    </div>
  );
}

function Origin({ view }: { view: RunView }) {
  const parts = [
    view.entryFile,
    view.workingDirectory === "" ? undefined : view.workingDirectory,
    view.plan?.change && changeText(view.plan.change),
  ].filter((part) => part !== undefined);
  return (
    <span class="row wrap">
      {parts.map((part) => (
        <span key={part} class="mono">
          {part}
        </span>
      ))}
      {view.startedAt === undefined ? null : (
        <span>
          started <RelativeTime at={view.startedAt} />
        </span>
      )}
    </span>
  );
}

function Actions({ actions }: { actions: RunActions }) {
  const { live } = useRunContext();
  const announce = useAnnounce();
  const [busy, setBusy] = useState(false);
  const act = async (action: () => Promise<void>, failure: string) => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      announce(`${failure}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      setBusy(false);
    }
  };
  return live ? (
    <button
      type="button"
      class="button button-danger"
      disabled={busy}
      onClick={() => void act(() => actions.stop(), "The run could not be stopped")}
    >
      <Icon name="stop" /> Stop
    </button>
  ) : (
    <button
      type="button"
      class="button"
      disabled={busy}
      onClick={() => void act(() => actions.startAgain(), "The job could not be started")}
    >
      <Icon name="retry" /> Start again
    </button>
  );
}

function Reason() {
  const { model, feed, runId } = useRunContext();
  const { view } = model;
  const { status, reason, advice, jobOutcome } = view;
  const { work, place } = targetOf(model, { kind: "overview" });
  return (
    <>
      {reason === undefined ? null : (
        <div class="note reason" data-tone={status === "failed" ? "fail" : "skip"}>
          <p>{reason}</p>
          {advice === undefined ? null : <p>{advice}</p>}
          {work === undefined || place === undefined ? null : (
            <a href={placeHref(runId, place)}>
              {work.taskId} #{work.workId}, where it failed
            </a>
          )}
        </div>
      )}
      {jobOutcome === undefined ||
      jobOutcome.kind === "succeeded" ||
      reason?.includes(jobOutcome.reason) === true ? null : (
        <p class="note reason" data-tone="skip">
          The job itself {jobOutcome.kind === "failed" ? "failed" : `was ${jobOutcome.kind}`}:{" "}
          {jobOutcome.reason}
        </p>
      )}
      {feed.kind === "failed" ? (
        <p class="note reason" data-tone="fail" role="alert">
          No further events: {feed.reason}
        </p>
      ) : null}
      {feed.kind === "ended" && view.endedAt === undefined ? (
        <p class="note reason" data-tone="warn">
          The journal ends before the run does: the run was killed, or it was still running.
        </p>
      ) : null}
    </>
  );
}

/** Warnings: the run continued without something. */
function Omissions({ view: { omissions } }: { view: RunView }) {
  if (omissions.length === 0) return null;
  return (
    <ul class="note reason" data-tone="warn" aria-label="Warnings">
      {omissions.map(({ workId, taskId, text }) => (
        <li key={`${workId} ${text}`}>
          {taskId} #{workId}: {text}
        </li>
      ))}
    </ul>
  );
}

function Facts({ view: { totals, startedAt } }: { view: RunView }) {
  const end = useRunTime();
  return (
    <dl class="facts">
      <Fact name="Duration">{startedAt === undefined ? "–" : formatDuration(end - startedAt)}</Fact>
      <Fact name="Tokens" detail={tokensDetail(totals)}>
        {formatCount(totals.inputTokens + totals.outputTokens)}
      </Fact>
      <Fact name="Cost" detail="AI credits of GitHub Copilot">
        {costWords(totals).join(", ") || "0"}
      </Fact>
      <Fact name="Model calls">{formatCount(totals.modelCalls)}</Fact>
      <Fact name="Retries" tone={totals.retries > 0 ? "warn" : undefined}>
        {formatCount(totals.retries)}
      </Fact>
      <Fact name="Crashes" tone={totals.crashes > 0 ? "fail" : undefined}>
        {formatCount(totals.crashes)}
      </Fact>
      <Fact name="Denials" tone={totals.denials > 0 ? "warn" : undefined}>
        {formatCount(totals.denials)}
      </Fact>
    </dl>
  );
}

function tokensDetail({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  reasoningTokens,
}: RunView["totals"]): string {
  return `${formatExact(inputTokens)} in (${formatExact(cacheReadTokens)} from the cache), ${formatExact(outputTokens)} out (${formatExact(reasoningTokens)} of reasoning)`;
}

function Fact({
  name,
  detail,
  tone,
  children,
}: {
  name: string;
  detail?: string;
  tone?: "warn" | "fail" | undefined;
  children: ComponentChildren;
}) {
  return (
    <div title={detail} data-tone={tone}>
      <dt class="muted small">{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  );
}

function Plan({ plan }: { plan: RunPlan }) {
  const { userInput, models, limits, permissions, version, entryFingerprint } = plan;
  const instructions = instructionsText(plan.instructions);
  return (
    <div class="run-plan row wrap">
      {userInput === "" ? null : (
        <Collapsible summary="User input">
          <CodeBlock text={userInput} label="user input" />
        </Collapsible>
      )}
      <Collapsible summary="Models, limits and permissions">
        <div class="plan-columns">
          <div>
            <h2 class="small">Models</h2>
            <Pairs pairs={Object.entries(models)} />
            <p class="small muted">
              agent-jobs {version}, entry{" "}
              <span class="mono" title={entryFingerprint}>
                {entryFingerprint.slice(0, 12)}
              </span>
            </p>
            {instructions === "" ? null : (
              <p class="small muted">
                Instructions: <span class="mono">{instructions}</span>
              </p>
            )}
          </div>
          <div>
            <h2 class="small">Limits</h2>
            <Pairs
              pairs={Object.entries(limits).map(([name, { value, source }]) => [
                name,
                value === null ? "none" : formatExact(value),
                source,
              ])}
            />
          </div>
          <div>
            <h2 class="small">Permissions</h2>
            <Pairs
              pairs={Object.entries(permissions).map(([task, given]) => [
                task,
                permissionsText(given),
              ])}
            />
          </div>
        </div>
      </Collapsible>
    </div>
  );
}

function permissionsText(permissions: Permissions): string {
  return typeof permissions === "string" ? permissions : JSON.stringify(permissions, null, 1);
}

function Pairs({ pairs }: { pairs: readonly (readonly [string, string, string?])[] }) {
  if (pairs.length === 0) return <p class="muted">None.</p>;
  return (
    <dl class="pairs">
      {pairs.map(([name, value, source], index) => (
        <div key={index}>
          <dt class="muted">{name}</dt>
          <dd>
            {value}
            {source === undefined ? null : <span class="muted small"> {source}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
