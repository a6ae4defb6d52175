/** What `--env NAME` passes on. */
import assert from "node:assert/strict";
import { delimiter } from "node:path";
import { test } from "node:test";
import { allowedForPrograms, allowedOf } from "../../src/run/variables.ts";

test("a variable is passed on as it is, but PATH only without what no process is to search", () => {
  const environment = {
    PATH: ["node_modules/.bin", "", "/work/place/bin", "/usr/bin"].join(delimiter),
    GITHUB_WORKSPACE: "/work/place",
    HTTPS_PROXY: "http://user:word@proxy",
    TOKEN: "t",
    OTHER: "o",
  };
  const env = ["PATH", "HTTPS_PROXY", "TOKEN", "UNSET"];
  const expected = { PATH: "/usr/bin", HTTPS_PROXY: "http://user:word@proxy", TOKEN: "t" };
  assert.deepEqual(allowedOf({ environment, env }), expected);
  const { TOKEN: _, ...withoutToken } = expected;
  const mcpServers = { s: { command: "node", env: { TOKEN: "env:TOKEN" } } };
  assert.deepEqual(allowedForPrograms({ mcpServers }, { environment, env }), withoutToken);
});
