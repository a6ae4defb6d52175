import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Declared {
  readonly name: string;
  readonly file: string;
  readonly documented: boolean;
  /** Members of an interface or class without a text of their own. */
  readonly silentMembers: readonly string[];
}

/** Follows re-exports to the declarations. */
export function declarationsOf(file: string, only?: ReadonlySet<string>): Declared[] {
  const text = readFileSync(file, "utf8");
  const wanted = (name: string): boolean => only === undefined || only.has(name);
  const found: Declared[] = [];
  const at = (specifier: string): string =>
    join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts"));
  for (const [, specifier = ""] of text.matchAll(/^export \* from "(.+)";/gm)) {
    found.push(...declarationsOf(at(specifier), only));
  }
  for (const [, list = "", specifier = ""] of text.matchAll(
    /^export (?:type )?\{([^}]*)\} from "(.+)";/gm,
  )) {
    const names = list.split(",").map((one) =>
      one
        .trim()
        .replace(/^type\s+/, "")
        .split(" as "),
    );
    const here = names.filter(([name = "", as = name]) => name !== "" && wanted(as));
    if (here.length === 0) continue;
    const asNamed = new Map(here.map(([name = "", as = name]) => [name, as]));
    for (const one of declarationsOf(at(specifier), new Set(asNamed.keys()))) {
      found.push({ ...one, name: asNamed.get(one.name) ?? one.name });
    }
  }
  const declaration =
    /^export (?:declare )?(?:abstract )?(?:class|function|const|interface|type|enum) (\w+)/gm;
  for (const { 1: name = "", index } of text.matchAll(declaration)) {
    if (!wanted(name)) continue;
    const documented = text.slice(0, index).trimEnd().endsWith("*/");
    found.push({ name, file, documented, silentMembers: silentMembers(text.slice(index)) });
  }
  return found;
}

function silentMembers(declaration: string): string[] {
  const [head = "", ...lines] = declaration.split("\n");
  if (!/^export (?:declare )?(?:class|interface) /.test(head) || !head.endsWith("{")) return [];
  const silent: string[] = [];
  let before = "";
  for (const line of lines.slice(0, lines.indexOf("}"))) {
    const name = /^ {4}(?:readonly |get |static )*(\w+)[?(:<]/.exec(line)?.[1];
    if (name !== undefined && name !== "constructor" && !before.endsWith("*/")) silent.push(name);
    before = line;
  }
  return silent;
}
