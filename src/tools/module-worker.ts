/**
 * The process of a module: `node module-worker.mjs MODULE EXPORT HOOKS`. The params come on stdin, the result leaves by
 * file descriptor 3, all else is the log. Bundled by scripts/generate.mjs; imports only Node.
 */
import { writeSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";

const results = 3;
const [path = "", name = "", hooks = ""] = process.argv.slice(2);

function end(kind: "returned" | "threw", text: string): never {
  const bytes = Buffer.from(`${kind}\n${text}`);
  for (let sent = 0; sent < bytes.length;) sent += writeSync(results, bytes, sent);
  process.exit(kind === "returned" ? 0 : 1);
}

function progress(news: unknown): void {
  const { percent, message } = Object(typeof news === "object" ? news : textOrPercent(news));
  const line =
    typeof percent === "number"
      ? JSON.stringify({ percent, ...(message === undefined ? {} : { message: String(message) }) })
      : String(message).replaceAll(/[\r\n]+/g, " ");
  process.stderr.write(`${line}\n`);
}

function textOrPercent(news: unknown): object {
  return typeof news === "number" ? { percent: news } : { message: news };
}

function shown(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  process.stderr.write(`${error.stack ?? ""}\n`);
  return stripVTControlCharacters(error.message === "" ? error.name : error.message);
}

async function readInput(): Promise<string> {
  process.stdin.setEncoding("utf8");
  let text = "";
  for await (const piece of process.stdin) text += String(piece);
  return text;
}

const controller = new AbortController();
process.on("SIGTERM", () => controller.abort(new Error("The call was canceled.")));

try {
  const params: unknown = JSON.parse(await readInput());
  if (!Reflect.get(process.features, "typescript")) register(pathToFileURL(hooks));
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href);
  // A CommonJS module exports its functions as the default.
  const found = module[name] ?? Object(module["default"])[name];
  if (typeof found !== "function") {
    const names = Object.keys(module).join(", ");
    throw new TypeError(
      `The module has no function ${name}. It exports ${names === "" ? "nothing" : names}.`,
    );
  }
  const value: unknown = await found(params, { signal: controller.signal, progress });
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new TypeError(`The result can't be written as JSON: ${shown(error)}`, { cause: error });
  }
  end("returned", text ?? "null");
} catch (error) {
  end("threw", shown(error));
}
