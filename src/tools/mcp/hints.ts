/** Guesses from its output what a program that ended lacked. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isBareName } from "../../platform/search-path.ts";

const absent =
  /no such file|no module named|module not found|cannot find|can't (?:open|find)|not found|ENOENT/i;
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

/** Explains the empty folder if a server that started there misses a file. */
export function folderHint(words: readonly string[], errors: string): string {
  if (!absent.test(errors)) return "";
  const script = words.find((word) => /^[^-@/]*\.[a-z]+$/i.test(word)) ?? "server.js";
  return `\nThe server started in an empty folder, because neither its \`command\` nor its first argument is the path of a file in the working directory. Write such a path, for example \`./${script}\` or \`./node_modules/.bin/tsx\`.`;
}
