import assert from "node:assert/strict";
import { test } from "node:test";
import { limitText, type LimitScope } from "../../src/events/exceeded-limit.ts";

const activity: LimitScope = { kind: "activity", file: "sub/build.wf.md", activity: "EXECUTE_2" };

test("a limit of an activity names the activity, its file and where it was set", () => {
  const setBy = "limits.activityHits of flow.wf.md";
  assert.equal(
    limitText({ limit: "activityHits", value: 3, setBy }, activity),
    'limits.activityHits of activity "EXECUTE_2" of sub/build.wf.md (3 runs), set by limits.activityHits of flow.wf.md',
  );
});

test("the default of a limit that only concerns workflows can be changed in two places", () => {
  assert.equal(
    limitText({ limit: "activities", value: 10_000 }, { kind: "workflow", file: "flow.wf.md" }),
    'limits.activities of workflow "flow.wf.md" (10000 activities, the default; set limits.activities in the workflow\'s front matter or the entry)',
  );
  assert.match(
    limitText({ limit: "turnMinutes", value: 15 }),
    /the default; set limits\.turnMinutes in the entry\)$/,
  );
});
