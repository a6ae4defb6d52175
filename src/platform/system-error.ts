/** What a person can do about errors of the operating system that are nobody's mistake but a resource's end. */
const advice: Readonly<Record<string, string>> = {
  EMFILE:
    "This process may not open any more files: raise its limit, for example with `ulimit -n 4096`.",
  ENFILE: "No more files can be open on this machine: end other programs, or raise its limit.",
  EAGAIN:
    "No more processes can be started: end other programs, or raise the limit, for example with `ulimit -u 4096`.",
  ENOMEM:
    "No memory is left on this machine: end other programs, or set a lower `limits.parallel`.",
  ENOSPC: "No space is left on the disk: make room, or name a folder with room in TMPDIR.",
  EDQUOT: "The disk quota is used up: make room, or name a folder with room in TMPDIR.",
};

/** The error's own words, and what to do about it where we know. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const known = Object.hasOwn(advice, code) ? advice[code] : undefined;
  return known === undefined ? error.message : `${error.message}. ${known}`;
}
