import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { copilotService, isReachedDirectly } from "../../src/sessions/model-server.ts";
import { ModelProbe } from "../../src/sessions/model-probe.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { listen } from "../rig/listen.ts";
import { until } from "./rig.ts";

test("the Copilot service is where GH_HOST says", () => {
  const usual = "https://api.githubcopilot.com";
  const own = "https://copilot-api.acme.ghe.com";
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
    assert.equal(copilotService({ GH_HOST: host }), address, host);
  }
  // The runtime is not given it, so it doesn't go there.
  assert.equal(copilotService({ COPILOT_API_URL: "http://127.0.0.1:1" }), usual);
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
      isReachedDirectly(address, environment),
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

test("the Copilot service is asked for its models, without a credential; one that is down is named", async (t) => {
  const asked: string[] = [];
  const address = await listen(
    t,
    createServer(({ method, url, headers }, response) => {
      asked.push(`${method} ${url} ${headers.authorization ?? "nobody"}`);
      response.writeHead(401).end();
    }),
  );
  const said: string[] = [];
  const probing = (at: string): ModelProbe => {
    const probe = new ModelProbe({
      clock: systemClock,
      provider: undefined,
      address: at,
      onUnreachable: (server, reason) => said.push(`${server}: ${reason}`),
    });
    t.after(() => probe.stop());
    probe.ask();
    return probe;
  };
  const up = probing(address);
  while (asked.length === 0) await systemClock.sleep(10);
  assert.deepEqual(asked, ["GET /models nobody"]);
  assert.equal(up.unreachable, undefined);
  const down = probing(await closedPort());
  while (said.length === 0) await systemClock.sleep(10);
  assert.match(said.join(), /^the Copilot service: .*ECONNREFUSED/);
  assert.equal(down.unreachable, "the Copilot service");
});

test("a server is asked for its models only if no model has answered within two seconds", async () => {
  const address = await closedPort();
  for (const [answers, expected] of [
    [true, []],
    [false, ["nobody answers"]],
  ] as const) {
    const clock = new FakeClock();
    const said: string[] = [];
    const probe = new ModelProbe({
      clock,
      provider: undefined,
      address,
      onUnreachable: () => said.push("nobody answers"),
    });
    const begun = clock.now();
    probe.watch();
    if (answers) probe.answered();
    const waited = clock.sleep(2_000);
    await clock.runUntil(waited);
    assert.equal(clock.now() - begun, 2_000);
    if (!answers) await until(() => said.length > 0, "the server that is down");
    assert.deepEqual(said, expected);
    probe.stop();
  }
});
