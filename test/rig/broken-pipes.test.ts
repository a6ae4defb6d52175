/** Red without the rig's help: node:test fails whatever test runs when a rejection has no handler. */
import { test } from "node:test";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { tolerateBrokenPipes } from "../../src/runtime/runtime-process.ts";
import { tolerateAsTheProductDoes } from "./broken-pipes.ts";

test("a request that was being written when its runtime died fails no test", async () => {
  tolerateAsTheProductDoes();
  const restore = tolerateBrokenPipes();
  void Promise.reject(Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" }));
  await yieldToEventLoop();
  restore();
});
