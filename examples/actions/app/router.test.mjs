import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsOf } from "./logging.mjs";
import { match, Router } from "./router.mjs";

test("a path matches a pattern with parameters", () => {
  assert.deepEqual(match("/users/:id", "/users/a%20b"), { id: "a b" });
  assert.equal(match("/users/:id", "/users"), undefined);
});

test("the first route that matches answers", () => {
  const router = new Router().on("GET", "/:a", ({ a }) => a).on("GET", "/b", () => "never");
  assert.equal(router.answer({ method: "GET", path: "/b" }), "b");
  assert.equal(router.answer({ method: "PUT", path: "/b" }).status, 404);
});

test("an unknown level is refused", () => {
  assert.throws(() => settingsOf({ LOG_LEVEL: "loud" }), /LOG_LEVEL is none of debug, info, error/);
});
