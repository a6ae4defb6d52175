import assert from "node:assert/strict";
import { test } from "node:test";
import { urlOf } from "../../src/text/guards.ts";

test("an address is read as often as it is asked for, also with a host outside of ASCII", () => {
  // V8 optimizes the function meanwhile.
  for (let count = 0; count < 20_000; count += 1)
    assert.equal(urlOf("https://é.com/")?.host, "xn--9ca.com", `call ${count}`);
  assert.equal(urlOf("no address"), undefined);
});
