/** The decisions of the runner, as they come. */
import { useMemo, useState } from "preact/hooks";
import { decisionCategories } from "../../src/events/decision.ts";
import type { DecisionItem } from "../model/model.ts";
import { titleOf } from "../model/places.ts";
import { plural } from "../parts/format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { ClockTime } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { placeHref, useRunContext } from "./context.ts";
import type { Tone } from "../parts/status.tsx";

const all = "all";
const important = "important";

const tones: Readonly<Record<DecisionItem["severity"], Tone>> = {
  good: "ok",
  warning: "warn",
  error: "fail",
  neutral: "skip",
  detail: "skip",
};

function decisionTone({ severity, answer }: DecisionItem): Tone {
  return answer ? "run" : tones[severity];
}

const icons: Readonly<Record<Tone, IconName>> = {
  ok: "check",
  warn: "alert",
  fail: "cross",
  run: "minus",
  skip: "dot",
};

function iconOf(item: DecisionItem): IconName {
  switch (item.decision.kind) {
    case "session-crashed":
      return "bolt";
    case "criteria-retry":
    case "further-attempt":
      return "retry";
    case "permission-denied":
      return "shield";
    case "waiting":
      return "clock";
    default:
      return icons[decisionTone(item)];
  }
}

export function DecisionMark({ decision }: { decision: DecisionItem }) {
  const tone = decisionTone(decision);
  return (
    <span class="status-mark" data-tone={tone}>
      <Icon name={iconOf(decision)} size={14} />
    </span>
  );
}

/** Nothing where the text says the same. */
export function CategoryLabel({ decision: { category, text } }: { decision: DecisionItem }) {
  if (text.toUpperCase() === category) return null;
  return <span class="decision-category">{category}</span>;
}

export function Decisions() {
  const { model, version, runId, live } = useRunContext();
  const [filter, setFilter] = useState<string>(important);
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const { category } of model.decisions) found.set(category, (found.get(category) ?? 0) + 1);
    return found;
  }, [model, version]);
  const shown = useMemo(
    () =>
      model.decisions.filter(({ category, severity }) => {
        if (filter === all) return true;
        return filter === important ? severity !== "detail" : category === filter;
      }),
    [model, version, filter],
  );
  return (
    <div class="column">
      <div class="pane-bar row wrap between">
        <label>
          <span class="hidden-text">Category</span>
          <select
            class="input input-small"
            value={filter}
            onChange={({ currentTarget }) => setFilter(currentTarget.value)}
          >
            <option value={important}>Without sessions</option>
            <option value={all}>All categories</option>
            {decisionCategories
              .filter((category) => counts.has(category))
              .map((category) => (
                <option key={category} value={category}>
                  {category} ({counts.get(category)})
                </option>
              ))}
          </select>
        </label>
        <span class="muted small" role="status">
          {shown.length === model.decisions.length
            ? plural(shown.length, "decision")
            : `${shown.length} of ${plural(model.decisions.length, "decision")}`}
        </span>
      </div>
      {shown.length === 0 ? (
        <EmptyState title="No decisions" />
      ) : (
        <VirtualList
          label="Decisions"
          class="fill"
          items={shown}
          keyOf={({ number }) => number}
          estimate={44}
          follow={live}
          render={(decision) => (
            <a class="list-link" href={placeHref(runId, decision)}>
              <DecisionMark decision={decision} />
              <span class="lines grow">
                <span class="row muted small">
                  <CategoryLabel decision={decision} />
                  <span class="truncate">
                    {decision.iteration === undefined ? "job" : titleOf(decision.iteration)}
                  </span>
                  <ClockTime at={decision.at} />
                </span>
                <span class="clamp">{decision.text}</span>
              </span>
            </a>
          )}
        />
      )}
    </div>
  );
}
