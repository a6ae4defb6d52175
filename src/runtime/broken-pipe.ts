/**
 * When the runtime has died and we do not know it yet, a request is written into a broken pipe. The RPC
 * library under the SDK then rejects the request, which we handle, and throws the same error once more
 * where it can't be caught (`throw` in an async promise executor): Node would end our process for it.
 */

/** Swallows just those errors until the returned function is called. */
export function tolerateBrokenPipes(): () => void {
  process.on("unhandledRejection", ignoreBrokenPipe);
  return () => process.off("unhandledRejection", ignoreBrokenPipe);
}

export function ignoreBrokenPipe(reason: unknown): void {
  if (isBrokenPipe(reason)) return;
  // A listener replaces Node's default. Leave it to other listeners, or do as Node would without any.
  const others = process.listeners("unhandledRejection").some((one) => one !== ignoreBrokenPipe);
  if (!others) throw reason;
}

export function isBrokenPipe(reason: unknown): boolean {
  if (!(reason instanceof Error) || !("code" in reason)) return false;
  const { code } = reason;
  const written = "syscall" in reason ? reason.syscall === "write" : true;
  return written && ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"].includes(String(code));
}
