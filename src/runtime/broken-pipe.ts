/**
 * When the runtime has died and we do not know it yet, a request is written into a broken pipe. The RPC
 * library under the SDK then rejects the request, which we handle, and throws the same error once more
 * where nobody can catch it (`throw` in an async promise executor): Node would end our process for it.
 */

/** Swallows just those errors until the returned function is called. */
export function tolerateBrokenPipes(): () => void {
  process.on("unhandledRejection", ignoreBrokenPipe);
  return () => process.off("unhandledRejection", ignoreBrokenPipe);
}

function ignoreBrokenPipe(reason: unknown): void {
  if (isBrokenPipe(reason)) return;
  // With a listener Node leaves the judgement to it: somebody else's, or as if there were none.
  const others = process.listeners("unhandledRejection").some((one) => one !== ignoreBrokenPipe);
  if (!others) throw reason;
}

function isBrokenPipe(reason: unknown): boolean {
  if (!(reason instanceof Error) || !("code" in reason)) return false;
  const { code } = reason;
  const written = "syscall" in reason ? reason.syscall === "write" : true;
  return written && ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"].includes(String(code));
}
