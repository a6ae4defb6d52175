/** The six prototypes of the protocol, on tools that answer at once. The commands of an entry come with the entry. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bench, prototype, tool } from "./rig.ts";

describe("the prototypes", () => {
  it("run one after the other, on one executor", async () => {
    const called: string[] = [];
    const names =
      "build_tool git_tool search_tool deploy_tool static_analyzer github_tool summarizer_tool".split(
        " ",
      );
    const { execute, executor, until, clock, events } = bench({
      tools: names.map((name) =>
        tool(name, {
          run: async ({ id, params }, { signal }) => {
            called.push(id);
            await clock.sleep(name === "build_tool" ? 30_000 : 1000, signal);
            return { kind: "succeeded", value: { tool: name, params } };
          },
        }),
      ),
    });
    const run = async (number: number): Promise<string[]> => {
      const turn = await execute(prototype(number));
      assert.ok(turn.kind === "executed", JSON.stringify(turn));
      const { results, handles } = await executor.collect();
      return [turn.next, ...[...results, ...handles].map(({ id, status }) => `${id} ${status}`)];
    };
    assert.deepEqual(await run(1), ["stop", "build-main-app-123 running"]);
    assert.deepEqual(await run(2), ["continue", "i2-1 succeeded"]);
    assert.deepEqual(await run(3), [
      "continue",
      "doc_update_task succeeded",
      "search_docs_task succeeded",
    ]);
    assert.deepEqual(await run(4), ["stop", "deploy-prod-gateway-456 running"]);
    assert.deepEqual(await run(5), [
      "continue",
      "deploy-prod-gateway-456 succeeded",
      "i5-1 succeeded",
    ]);
    // The tests of the report use the tool that builds in the background.
    assert.deepEqual(await run(6), [
      "continue",
      "build-main-app-123 succeeded",
      "pr_report_main succeeded",
    ]);
    await until(executor.finish());

    assert.deepEqual(called, [
      ..."build-main-app-123 doc_update_task search_docs_task".split(" "),
      ..."deploy-prod-gateway-456 i5-1 fetch_pr run_unit_tests generate_summary".split(" "),
    ]);
    const analysis = events.find((event) => event.type === "action.started" && event.id === "i5-1");
    assert.match(JSON.stringify(analysis), /source_task_id\\":\\"build-main-app-123/);
    const warnings = events.flatMap((event) =>
      event.type === "actions.warning" ? [event.text] : [],
    );
    assert.ok(warnings.includes(`There is no relic "relic_id_project_docs_v4".`));
  });
});
