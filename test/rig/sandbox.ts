/**
 * Tests on a machine without a sandbox. Those that are about it are skipped there. All others run: what they write and
 * open says `sandbox: off`, unless it says something about the sandbox itself. Where there is one, nothing changes, so
 * that tests run what users run.
 */
import { isMap, isNode, parseDocument, type Document } from "yaml";
import type { Entry, Permissions } from "../../src/entry/model.ts";
import { withSandbox } from "../../src/permissions/rules.ts";
import { sandboxSupport } from "../../src/sandbox/sandbox.ts";
import { skipUnlessCi } from "./programs.ts";

const support = await sandboxSupport(process.env);

const missing = support.kind === "none" && `${support.reason}. ${support.advice}`;

/** For the option `skip` of a test. Other systems than Linux have none in CI, either. */
export const withoutSandbox: string | false =
  missing && process.platform === "linux" ? skipUnlessCi(missing) : missing;
const isMissing = withoutSandbox !== false;

/** For permissions that are in no file. */
export function unconfined(permissions: Permissions): Permissions {
  return isMissing ? withSandbox(permissions, { sandbox: "off" }) : permissions;
}

/** For an entry that a host installs. */
export function unconfinedEntry(entry: Entry): Entry {
  return isMissing
    ? { ...entry, permissions: unconfined(entry.permissions ?? "read-only") }
    : entry;
}

/** For the files of a workspace: entries, and workflows with permissions. */
export function unconfinedFile(name: string, text: string): string {
  if (!isMissing || !text.includes("permissions") || text.includes("sandbox")) return text;
  if (name.endsWith(".wf.md"))
    return text.replace(/^(---\n)([^]*?\n)(?=---\n)/, (_, line: string, settings: string) => {
      const document = parseDocument(settings);
      return `${line}${document.has("permissions") ? edited(document, settings) : settings}`;
    });
  if (!/\.(?:json|ya?ml)$/.test(name)) return text;
  const document = parseDocument(text);
  return document.errors.length === 0 && document.has("models") ? edited(document, text) : text;
}

const off = `"sandbox": "off"`;

/** Tasks inherit it from the permissions of their entry. What is before it keeps its line and column. */
function edited({ contents }: Document, text: string): string {
  const insert = (at: number, more: string, end = at): string =>
    `${text.slice(0, at)}${more}${text.slice(end)}`;
  if (!isMap(contents)) return text;
  const stated = contents.get("permissions", true);
  if (!isNode(stated) || !stated.range) {
    const permissions = `"permissions": { ${off} }`;
    return contents.flow === true
      ? insert(text.lastIndexOf("}"), `, ${permissions} `)
      : `${text.trimEnd()}\n${permissions}\n`;
  }
  const [from, to] = stated.range;
  if (!isMap(stated)) return insert(from, `{ "preset": ${text.slice(from, to)}, ${off} }`, to);
  if (stated.flow === true) return insert(to - 1, stated.items.length === 0 ? off : `, ${off} `);
  const indent = from - text.lastIndexOf("\n", from) - 1;
  return insert(text.slice(0, to).trimEnd().length, `\n${" ".repeat(indent)}${off}`);
}
