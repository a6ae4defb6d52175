/** Advice for errors of the operating system that mean that a resource is exhausted. */
const advice: Readonly<Record<string, string>> = {
  EMFILE:
    "This process has too many open files. Raise its limit, for example with `ulimit -n 4096`",
  ENFILE: "This machine has too many open files. End other programs, or raise the limit",
  EAGAIN:
    "There are too many processes. End other programs, or raise the limit, for example with `ulimit -u 4096`",
  ENOMEM: "This machine is out of memory. End other programs, or set a lower `limits.parallel`",
  ENOSPC: "The disk is full. Free some space, or set TMPDIR to a folder on another disk",
  EDQUOT: "The disk quota is exceeded. Free some space, or set TMPDIR to a folder on another disk",
  EFBIG: "The limit of a file's size is exceeded. Raise it, for example with `ulimit -f unlimited`",
};

/** For a file that the user has named: it is not in TMPDIR. */
const adviceForFile: typeof advice = {
  ENOSPC: "The disk is full. Free some space, or choose a file on another disk",
  EDQUOT: "The disk quota is exceeded. Free some space, or choose a file on another disk",
};

/** The error's own words, and what to do about it where we know. Like those, without a full stop at its end. */
export function errorMessage(error: unknown): string {
  return withAdvice(error, advice);
}

export function fileErrorMessage(error: unknown): string {
  if (errorCode(error) === "ENOENT") return "the file or its folder doesn't exist";
  return withAdvice(error, { ...advice, ...adviceForFile });
}

function withAdvice(error: unknown, advice: Readonly<Record<string, string>>): string {
  if (!(error instanceof Error)) return textOfThrown(error);
  const code = "code" in error ? String(error.code) : "";
  const known = Object.hasOwn(advice, code) ? advice[code] : undefined;
  return known === undefined ? error.message : `${error.message}. ${known}`;
}

/** Anything can be thrown, also what can't be made a text. */
function textOfThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "unknown error";
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/** A fault of the system, not of us or of our input. The message is complete. */
export class SystemError extends Error {
  override readonly name = "SystemError";
}

export function systemFault(error: unknown): string | undefined {
  if (error instanceof SystemError) return error.message;
  return Object.hasOwn(advice, errorCode(error) ?? "") ? errorMessage(error) : undefined;
}
