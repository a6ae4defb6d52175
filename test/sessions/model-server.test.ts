import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it, test, type TestContext } from "node:test";
import { crashRemedy } from "../../src/events/crash.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { proxyFor } from "../../src/sessions/forward.ts";
import { copilotService, ModelProbe } from "../../src/sessions/model-probe.ts";
import { modelsOfServer } from "../../src/sessions/offered-models.ts";
import { withDefaults, type Provider } from "../../src/sessions/provider.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { listen } from "../rig/listen.ts";
import { until } from "./rig.ts";

test("the Copilot service is where GH_HOST says", () => {
  const usual = ["https://api.githubcopilot.com", "https://api.github.com"];
  const own = ["https://copilot-api.acme.ghe.com", "https://api.acme.ghe.com"];
  for (const [host, address] of [
    [undefined, usual],
    ["", usual],
    ["github.com", usual],
    ["github.example.com", usual],
    ["acme.ghe.com", own],
    ["https://ACME.ghe.com/", own],
    ["acme.ghe.com.example.org", usual],
    ["user@acme.ghe.com", usual],
  ] as const) {
    assert.deepEqual(copilotService({ GH_HOST: host }), address, host);
  }
  // The runtime is not given it, so it doesn't go there.
  assert.deepEqual(copilotService({ COPILOT_API_URL: "http://127.0.0.1:1" }), usual);
});

test("an address is reached directly where no proxy is set for it, or NO_PROXY excludes it", () => {
  const proxy = "http://proxy.example:3128";
  for (const [address, environment, direct] of [
    ["https://models.example/v1", {}, true],
    ["https://models.example/v1", { HTTPS_PROXY: "" }, true],
    ["https://models.example/v1", { HTTP_PROXY: proxy }, true],
    ["http://models.example/v1", { HTTPS_PROXY: proxy }, true],
    ["https://models.example/v1", { https_proxy: proxy }, false],
    ["https://models.example/v1", { ALL_PROXY: proxy }, false],
    ["http://models.example/v1", { http_proxy: proxy }, false],
    ["https://models.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: "*" }, true],
    ["https://models.example/v1", { HTTPS_PROXY: proxy, no_proxy: "a.b, MODELS.example" }, true],
    ["https://eu.models.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: ".models.example" }, true],
    ["https://eu.models.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: "*.models.example" }, true],
    ["https://mymodels.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: "models.example" }, false],
    ["https://models.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: "models.example:443" }, true],
    ["https://models.example/v1", { HTTPS_PROXY: proxy, NO_PROXY: "models.example:80" }, false],
    ["http://127.0.0.1:8080/v1", { HTTP_PROXY: proxy, NO_PROXY: "localhost,127.0.0.1" }, true],
    ["http://10.1.2.3/v1", { HTTP_PROXY: proxy, NO_PROXY: "10.0.0.0/8" }, true],
    ["http://11.1.2.3/v1", { HTTP_PROXY: proxy, NO_PROXY: "10.0.0.0/8" }, false],
    ["http://[::1]:80/v1", { HTTP_PROXY: proxy, NO_PROXY: "[::1]" }, true],
    ["http://[fd00::1]/v1", { HTTP_PROXY: proxy, NO_PROXY: "fd00::/8" }, true],
    ["http://0.1.2.3/v1", { HTTP_PROXY: proxy, NO_PROXY: ".,/8,10.0.0.0/99,::/x" }, false],
  ] as const) {
    assert.equal(
      proxyFor(address, environment) === undefined,
      direct,
      `${address} ${JSON.stringify(environment)}`,
    );
  }
});

/** An address at which no server listens any more. */
async function closedPort(): Promise<string> {
  const server = createServer();
  const address = await listen({ after: () => {} }, server);
  await new Promise((resolve) => server.close(resolve));
  return address;
}

function probing(
  t: TestContext,
  addresses: readonly string[],
  clock: Clock = systemClock,
  provider?: Provider,
) {
  const said: string[] = [];
  const probe = new ModelProbe({
    clock,
    provider,
    environment: {},
    addresses,
    onUnreachable: (server, reason) => said.push(`${server}: ${reason}`),
  });
  t.after(() => probe.stop());
  return { probe, said };
}

test("the Copilot service is asked for its models, without a credential; one that is down is named", async (t) => {
  const asked: string[] = [];
  const address = await listen(
    t,
    createServer(({ method, url, headers }, response) => {
      asked.push(`${method} ${url} ${headers.authorization ?? "nobody"}`);
      response.writeHead(401).end();
    }),
  );
  const up = probing(t, [address]);
  up.probe.ask();
  while (asked.length === 0) await systemClock.sleep(10);
  assert.deepEqual(asked, ["GET /models nobody"]);
  assert.equal(up.probe.unreachable, undefined);
  const down = probing(t, [await closedPort()]);
  down.probe.ask();
  while (down.said.length === 0) await systemClock.sleep(10);
  assert.match(down.said.join(), /^the Copilot service: .*ECONNREFUSED/);
  assert.equal(down.probe.unreachable, "the Copilot service");
});

test("a server isn't taken for slow because its key is", async (t) => {
  const asked: unknown[] = [];
  const address = await listen(
    t,
    createServer(({ headers: { authorization } }, response) => {
      asked.push(authorization);
      response.end('{ "data": [{ "id": "m" }] }');
    }),
  );
  const clock = new FakeClock();
  const apiKey = async (): Promise<string> => {
    await clock.sleep(20_000);
    return "key";
  };
  const provider = withDefaults({ baseUrl: address, apiKey });
  const { probe, said } = probing(t, [address], clock, provider);
  probe.ask();
  const listed = modelsOfServer(provider, {}, clock);
  await clock.runUntil(clock.sleep(20_000));
  assert.equal((await listed).length, 1);
  await until(() => asked.length === 2, "the probe");
  assert.deepEqual([asked, said], [["Bearer key", "Bearer key"], []]);
});

test("a server is asked for its models only if no model has answered within two seconds", async (t) => {
  const address = await closedPort();
  for (const answers of [true, false]) {
    const clock = new FakeClock();
    const { probe, said } = probing(t, [address], clock);
    const begun = clock.now();
    probe.watch();
    if (answers) probe.answered();
    await clock.runUntil(clock.sleep(2_000));
    assert.equal(clock.now() - begun, 2_000);
    if (!answers) await until(() => said.length > 0, "the server that is down");
    assert.equal(said.length, answers ? 0 : 1);
  }
});

test("a server that refuses two connections is absent, unless it has answered before", async (t) => {
  const up = await listen(
    t,
    createServer((_request, response) => response.end()),
  );
  for (const [addresses, answers, absent] of [
    [[await closedPort()], false, true],
    [[await closedPort()], true, false],
    // A session needs the service and the access to it.
    [[up, await closedPort()], false, true],
    [[up, up], false, false],
  ] as const) {
    const clock = new FakeClock();
    const { probe } = probing(t, addresses, clock);
    probe.watch();
    if (answers) {
      probe.answered();
      probe.ask();
    }
    for (let round = 0; round < 50 && probe.absent === undefined; round += 1) {
      await clock.runUntil(clock.sleep(100));
      await systemClock.sleep(2);
    }
    assert.equal(probe.absent !== undefined, absent);
    assert.equal(probe.absence.aborted, absent);
    if (probe.absent === undefined) continue;
    assert.match(
      probe.absent.message,
      /^The Copilot service can't be reached at http:\/\/127\.\S+: .*ECONNREFUSED/,
    );
    assert.equal(crashRemedy(probe.absent).kind, "give-up");
    probe.answered();
    assert.deepEqual([probe.absent, probe.absence.aborted], [undefined, false]);
  }
});

describe("the models of a model server", () => {
  it("are asked for with its key, and have no price", async (t) => {
    const asked: unknown[] = [];
    const server = createServer((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization]);
      response.end(
        '{"data":[{"id":"a"},{"id":"b","name":"B"},{"id":"a"},{"id":7},null,{"id":""}]}',
      );
    });
    const baseUrl = `${await listen(t, server)}/v1/`;
    const models = await modelsOfServer(
      { type: "openai", baseUrl, apiKey: "key" },
      {},
      systemClock,
    );
    assert.deepEqual(asked, [["GET", "/v1/models", "Bearer key"]]);
    assert.deepEqual(models, [
      { name: "a", id: "a" },
      { name: "b", id: "b" },
    ]);
  });

  it("are none if it answers with no list, no JSON or nothing", async (t) => {
    for (const body of ['{"models":[]}', "<html>", ""]) {
      const server = createServer((_request, response) => void response.end(body));
      const baseUrl = await listen(t, server);
      assert.deepEqual(
        await modelsOfServer({ type: "openai", baseUrl }, {}, systemClock),
        [],
        body,
      );
    }
  });

  it("are none if it doesn't answer in five seconds", async (t) => {
    const clock = new FakeClock();
    const baseUrl = await listen(
      t,
      createServer(() => undefined),
    );
    const models = modelsOfServer({ type: "openai", baseUrl }, {}, clock);
    assert.deepEqual(await clock.runUntil(models), []);
    assert.equal(clock.now(), 5_000);
  });
});
