/** The environment of this process. Only the edges and this file read it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
