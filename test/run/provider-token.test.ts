/** The key of a model server from a command: when it runs, and what is said if it fails. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { keyFromCommand } from "../../src/run/options-provider.ts";
import type { KeySource } from "../../src/sessions/provider.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { makeWorkspace } from "../rig/workspace.ts";

interface Rig {
  readonly key: KeySource;
  readonly clock: FakeClock;
  /** How often the command has run. */
  readonly runs: () => Promise<number>;
}

async function rig(t: TestContext, command: string): Promise<Rig> {
  const { path } = await makeWorkspace(t);
  const clock = new FakeClock();
  const environment = { PATH: process.env["PATH"], OIDC: "the-oidc-token" };
  const key = keyFromCommand({
    command: `echo x >> runs; ${command}`,
    folder: path,
    environment,
    option: "--provider-token-command",
    clock,
  });
  const runs = async (): Promise<number> => (await readFile(`${path}/runs`, "utf8")).length / 2;
  return { key, clock, runs };
}

/** Prints a JWT that expires so many seconds after the start of the clock. */
function jwt(clock: FakeClock, seconds: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(clock.now() / 1000) + seconds;
  return `${part({ alg: "none" })}.${part({ exp })}.${"s".repeat(8)}`;
}

const pass = (clock: FakeClock, minutes: number) => clock.runUntil(clock.sleep(minutes * 60_000));

describe("a command for the key", () => {
  it("gets the environment of the process, and its output is trimmed", async (t) => {
    const { key } = await rig(t, 'echo "  of-$OIDC"; echo');
    assert.equal(await key(), "of-the-oidc-token");
  });

  it("runs once for requests that need a key at the same time, and again after ten minutes", async (t) => {
    const { key, clock, runs } = await rig(t, 'echo "key-$(wc -l < runs)"');
    assert.deepEqual(await Promise.all([key(), key(), key()]), ["key-1", "key-1", "key-1"]);
    await pass(clock, 9);
    assert.equal(await key(), "key-1");
    await pass(clock, 2);
    assert.equal(await key(), "key-2");
    assert.equal(await runs(), 2);
  });

  it("runs again two minutes before the token says that it expires", async (t) => {
    const token = jwt(new FakeClock(), 3600);
    const { key, clock, runs } = await rig(t, `echo ${token}`);
    assert.equal(await key(), token);
    await pass(clock, 57);
    await key();
    assert.equal(await runs(), 1);
    await pass(clock, 2);
    await key();
    assert.equal(await runs(), 2);
  });

  it("runs again for a key that the server has refused, once for all who had it", async (t) => {
    const { key, runs } = await rig(t, 'echo "key-$(wc -l < runs)"');
    assert.equal(await key(), "key-1");
    assert.deepEqual(await Promise.all([key("key-1"), key("key-1")]), ["key-2", "key-2"]);
    assert.equal(await key("key-1"), "key-2");
    assert.equal(await runs(), 2);
  });

  for (const [what, command, reason] of [
    ["fails", "echo 'no such audience' >&2; exit 3", /failed: bash: no such audience$/],
    ["fails without a word", "exit 3", /failed: bash: it ended with exit code 3$/],
    ["fails in a pipe", "false | cat", /failed: bash: it ended with exit code 1$/],
    ["prints nothing", "true", /printed nothing$/],
    ["prints more than a key", "echo a key; echo", /must print nothing but the key/],
    ["prints two lines", "echo one; echo two", /must print nothing but the key/],
  ] as const)
    it(`that ${what} is named, and tried again by the next request`, async (t) => {
      const { key, runs } = await rig(t, command);
      await assert.rejects(key(), (error: Error) => {
        assert.match(error.message, /^--provider-token-command /);
        assert.match(error.message, reason);
        return true;
      });
      await assert.rejects(key());
      assert.equal(await runs(), 2);
    });
});
