/** Guesses from its output what a program that ended in its sandbox lacked. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isBareName } from "../../platform/search-path.ts";

const absent = /no such file|cannot find|can't (?:open|find)|not found|ENOENT/i;
const noNetwork =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|getaddrinfo|could ?n[o']t resolve|unable to resolve|name resolution|network is unreachable|no such host/i;

export function sandboxHint(words: readonly string[], cwd: string, errors: string): string {
  const hidden = words
    .filter((word) => word.startsWith("/") || (word.includes("/") && !isBareName(word)))
    .map((word) => resolve(cwd, word))
    .find((path) => errors.includes(path) && existsSync(path));
  if (hidden !== undefined && absent.test(errors))
    return `\nThe file ${hidden} exists, but the sandbox hides it. Allow its folder with \`read\` in the \`permissions\` of the server.`;
  if (noNetwork.test(errors))
    return "\nIn the sandbox, a program reaches only the hosts of its permissions. Name those that it needs in `hosts`, in the `permissions` of the server.";
  return "";
}
