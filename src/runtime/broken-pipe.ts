/**
 * A request to a runtime that has died is written into a broken pipe. The RPC library under the SDK rejects it, and
 * throws the error once more where it can't be caught (`throw` in an async promise executor).
 */

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
