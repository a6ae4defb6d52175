/** The fold that makes a trace of events. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { RunEventBody } from "../../src/events/event.ts";
import {
  defaultSampling,
  isSampled,
  parseTraceparent,
  spanIdOf,
  traceIdOf,
  traceparentOf,
} from "../../src/reports/otlp/settings.ts";
import { events as anyEvents } from "../events/samples.ts";
import { releaseStory } from "../rig/action-events.ts";
import { buildStory } from "../rig/flow-events.ts";
import { planned, ref } from "../rig/plan.ts";
import { rounds } from "../rig/nightly.ts";
import { traceOf, type Made, type MadeSpan } from "./otlp-rig.ts";

/** Names from the root to each span, with what is between them left out if it is given. */
function paths({ spans }: Made, ...without: readonly string[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = (span: MadeSpan): string[] => {
    const parent = byId.get(span.parentSpanId);
    const above = parent === undefined ? [] : pathOf(parent);
    return without.some((start) => span.name.startsWith(start)) ? above : [...above, span.name];
  };
  return [...new Set(spans.map((span) => pathOf(span).join(" > ")))].toSorted();
}

describe("a trace", () => {
  it("has the activities of a called workflow below the CALL", () => {
    const { events } = buildStory();
    const made = paths(traceOf(events));
    const path = "flow.wf.md > activity CALL_PUBLISH > activity ASK_SURE";
    assert.ok(
      made.some((one) => one.endsWith(path)),
      made.join("\n"),
    );
  });

  it("has actions below their agent, members below their group, and a delegated task below its action", async () => {
    const { events } = await releaseStory();
    const { spans } = traceOf(events);
    const made = paths(traceOf(events), "invoke_workflow");
    for (const path of [
      "invoke_agent ship > action group all tests > execute_tool npm/test",
      "invoke_agent ship > action delegate delegate",
    ])
      assert.ok(made.includes(path), made.join("\n"));
    const failed = spans.filter(
      ({ name, error }) => name.endsWith("npm/test") && error !== undefined,
    );
    assert.equal(failed.length, 1);
    assert.equal(failed[0]?.error, "");
    const withContent = traceOf(events, true).spans.find(
      ({ spanId }) => spanId === failed[0]?.spanId,
    );
    assert.match(withContent?.error ?? "", /2 of 40 tests failed/);
  });

  it("ends a delegated task once, although its session ends after it", () => {
    const own = { workId: 0, taskId: "a", iteration: 1 };
    const work = { ...own, taskId: "docs" };
    const bodies: RunEventBody[] = [
      { ...planned(ref(0, "a")), type: "run.started", jobName: "j", workingDirectory: "/" },
      { type: "work.started", work: own, modelId: "m" },
      {
        type: "session.started",
        work,
        sessionId: "s",
        modelId: "m",
        role: "both",
        retry: 0,
        attempt: 1,
      },
      { type: "decision", work, decision: { kind: "task-succeeded" } },
      { type: "session.ended", work, sessionId: "s", role: "both", succeeded: true },
      { type: "work.ended", work: own, outcome: { kind: "succeeded" } },
      { type: "run.ended", outcome: { kind: "succeeded" } },
    ];
    const { spans } = traceOf(bodies.map((body, at) => ({ at, runId: "r", ...body })));
    assert.deepEqual(
      spans.map(({ name }) => name),
      ["invoke_agent docs", "invoke_agent a", "invoke_workflow j"],
    );
  });

  it("has no span of a workflow that is the whole job below that of the run", () => {
    const { events } = buildStory();
    const jobName = "flow.wf.md";
    const { spans } = traceOf(
      events.map((event) => (event.type === "run.started" ? { ...event, jobName } : event)),
    );
    const root = spans.find(({ parentSpanId }) => parentSpanId === "");
    assert.equal(root?.name, "invoke_workflow flow.wf.md");
    const activity = spans.find(({ name }) => name.startsWith("activity "));
    assert.equal(
      spans.find(({ spanId }) => spanId === activity?.parentSpanId),
      root,
    );
  });

  it("is whole whatever the events are: one root, unique ids, parents that contain their children", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const started = new Set<string>();
        // The id of a turn is unique in a run, a run ends once, and nothing happens in a work that has ended.
        const ended = new Set<string>();
        const possible = events.filter((event) => {
          if (event.type === "run.ended" || event.type === "action") return false;
          const of = "work" in event ? event.work : undefined;
          const work = of && "workId" in of ? `${of.workId} ${of.iteration}` : undefined;
          if (work !== undefined && ended.has(work)) return false;
          if (work !== undefined && event.type === "work.ended") ended.add(work);
          const key =
            event.type === "turn.started"
              ? `turn ${event.turnId}`
              : event.type === "work.started"
                ? `work ${event.work.workId} ${event.work.iteration}`
                : event.type === "step.started"
                  ? `step ${event.step}`
                  : "";
          if (key === "") return true;
          const isNew = !started.has(key);
          started.add(key);
          return isNew;
        });
        const { spans } = traceOf(possible);
        if (possible.length === 0) return;
        const roots = spans.filter(({ parentSpanId }) => parentSpanId === "");
        assert.equal(roots.length, 1);
        const byId = new Map(spans.map((span) => [span.spanId, span]));
        for (const { parentSpanId, start, end, name } of spans) {
          const parent = byId.get(parentSpanId);
          assert.ok(start <= end, name);
          assert.equal(parent === undefined, parentSpanId === "", name);
          if (parent !== undefined) assert.ok(parent.start <= start, name);
        }
      }),
      rounds(500),
    );
  });
});

describe("TRACEPARENT", () => {
  const header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

  it("is read as W3C Trace Context says; what is not valid starts a new trace", () => {
    assert.deepEqual(parseTraceparent(header), {
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
      sampled: true,
    });
    assert.equal(parseTraceparent(header.replace(/01$/, "00"))?.sampled, false);
    // A later version may say more.
    assert.notEqual(parseTraceparent(header.replace("00-", "01-").concat("-more")), undefined);
    for (const wrong of [
      undefined,
      "",
      "x",
      header.replace("00-", "ff-"),
      header.toUpperCase(),
      header.replace(/4bf9\w+/, "0".repeat(32)),
      header.replace("00f067aa0ba902b7", "0".repeat(16)),
      header.slice(0, -1),
    ])
      assert.equal(parseTraceparent(wrong), undefined, wrong);
  });

  it("of a run names its span, in its own trace or in that of its caller", () => {
    const runId = "fd9f1493-5d71-4b3f-99ef-2e829a7273b4";
    const own = `00-fd9f14935d714b3f99ef2e829a7273b4-${spanIdOf(runId, "run")}-01`;
    const sampling = defaultSampling;
    assert.equal(traceparentOf(runId, { sampling }), own);
    const parent = parseTraceparent(header);
    assert.equal(
      traceparentOf(runId, { parent, sampling }),
      `00-4bf92f3577b34da6a3ce929d0e0e4736-${spanIdOf(runId, "run")}-01`,
    );
    assert.match(traceIdOf("no UUID"), /^[0-9a-f]{32}$/);
  });

  it("is sampled as its parent is, or by its trace id", () => {
    const parent = { traceId: "f".repeat(32), spanId: "1".repeat(16), sampled: false };
    const parentBased = false;
    const [low, high] = ["3".repeat(32), "d".repeat(32)];
    assert.equal(isSampled(high, { parent, sampling: defaultSampling }), false);
    assert.equal(isSampled(high, { parent, sampling: { ratio: 1, parentBased } }), true);
    for (const [ratio, ...expected] of [
      [0, false, false],
      [0.5, false, true],
      [1, true, true],
    ] as const)
      assert.deepEqual(
        [low, high].map((id) => isSampled(id, { sampling: { ratio, parentBased } })),
        expected,
      );
  });
});
