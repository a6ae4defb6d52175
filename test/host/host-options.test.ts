import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import type { JobHostOptions } from "../../src/host/host-options.ts";

function make(options: unknown): JobHost {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return new JobHost(options as JobHostOptions);
}

describe("the options of a JobHost", () => {
  const provider = { baseUrl: "http://127.0.0.1:1/v1" };
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [null, /must be an object/],
    [
      { permissions: "readonly" },
      /permissions must be one of .*, not "readonly".*did you mean "read-only"\?/,
    ],
    [{ permissions: { preset: "all" } }, /permissions must be one of read-only, workspace, all/],
    [{ color: 1 }, /color is not an option: known are provider, gitHubToken/],
    [{ baseURL: "http://x" }, /baseURL is not an option: did you mean "provider\.baseUrl"\?/],
    [{ gitHubToken: "" }, /gitHubToken must not be empty/],
    [{ provider: {} }, /provider\.baseUrl is missing/],
    [
      { provider: { baseUrl: "http://me:hunter2@127.0.0.1:1/v1" } },
      /provider\.baseUrl contains a user name or a password: pass the key with provider\.apiKey instead\.$/,
    ],
    [
      { provider: { ...provider, wireApi: "chat" } },
      /wireApi must be one of completions, responses, not "chat"/,
    ],
    [{ limits: { jobMinutes: -1 } }, /limits\.jobMinutes must be /],
    [{ limits: { modelCals: 3 } }, /limits\.modelCals .*did you mean "modelCalls"\?/],
    [{ transport: {} }, /transport must have a function send/],
    [{ reporters: [{}] }, /reporters must be a list of reporters/],
    [{ gitHubToken: 5, limit: 1 }, /gitHubToken must be a string; limit is not an option/],
  ];
  it("are refused if they are not what they should be", () => {
    for (const [options, message] of wrong)
      assert.throws(() => make(options), { name: "TypeError", message }, JSON.stringify(options));
  });

  it("may be left out, or be undefined", () => {
    for (const options of [
      undefined,
      {},
      { permissions: undefined, provider: undefined, limits: undefined },
      { permissions: "workspace", provider: { ...provider, apiKey: undefined } },
      { limits: { jobMinutes: 0.5, tokens: 10 }, tools: [], reporters: [] },
      { transport: { send: () => Promise.reject(new Error("no")) }, environment: {} },
    ]) {
      make(options);
    }
  });
});
