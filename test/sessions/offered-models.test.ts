import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { modelsOfServer } from "../../src/sessions/offered-models.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { listen } from "../rig/listen.ts";

describe("the models of a model server", () => {
  it("are asked for with its key, and cost no premium requests", async (t) => {
    const asked: unknown[] = [];
    const server = createServer((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization]);
      response.end(
        '{"data":[{"id":"a"},{"id":"b","name":"B"},{"id":"a"},{"id":7},null,{"id":""}]}',
      );
    });
    const baseUrl = `${await listen(t, server)}/v1/`;
    const models = await modelsOfServer({ type: "openai", baseUrl, apiKey: "key" }, systemClock);
    assert.deepEqual(asked, [["GET", "/v1/models", "Bearer key"]]);
    assert.deepEqual(models, [
      { name: "a", id: "a", multiplier: 0 },
      { name: "b", id: "b", multiplier: 0 },
    ]);
  });

  for (const [answer, body] of [
    ["no list", '{"models":[]}'],
    ["no JSON", "<html>"],
    ["nothing", ""],
  ] as const)
    it(`are none if it answers with ${answer}`, async (t) => {
      const server = createServer((_request, response) => void response.end(body));
      const baseUrl = await listen(t, server);
      assert.deepEqual(await modelsOfServer({ type: "openai", baseUrl }, systemClock), []);
    });

  it("are none if it doesn't answer in five seconds", async (t) => {
    const clock = new FakeClock();
    const baseUrl = await listen(
      t,
      createServer(() => undefined),
    );
    const models = modelsOfServer({ type: "openai", baseUrl }, clock);
    assert.deepEqual(await clock.runUntil(models), []);
    assert.equal(clock.now(), 5_000);
  });
});
