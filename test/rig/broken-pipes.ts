/**
 * node:test fails a test for every rejection that nobody handles, also for those that the product tolerates: whether
 * a request was being written at the moment of a runtime's death is a matter of microseconds (src/runtime/runtime-process.ts).
 */
import { ignoreBrokenPipe, isBrokenPipe } from "../../src/runtime/runtime-process.ts";

let done = false;

/** From now on it fails a test only for what would end a process. Call it within a test, before there is a runtime. */
export function tolerateAsTheProductDoes(): void {
  if (done) return;
  done = true;
  for (const listener of process.listeners("unhandledRejection")) {
    if (listener === ignoreBrokenPipe) continue;
    process.off("unhandledRejection", listener);
    process.on("unhandledRejection", (reason, promise) => {
      const tolerated = process.listeners("unhandledRejection").includes(ignoreBrokenPipe);
      if (!tolerated || !isBrokenPipe(reason)) listener(reason, promise);
    });
  }
}
