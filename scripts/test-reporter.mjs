// The output of `npm test`: a dot per test, each failure as it happens, and at the end the slowest files and the
// names of all that failed, so that the last lines of a log say what went wrong. A line for each reason says how many
// tests were skipped. The files with failures are listed in the file that AGENT_JOBS_FAILED_TESTS names, for
// scripts/repeat-failed-tests.mjs.
import { writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { inspect } from "node:util";

const width = 80;
/** The reason of test/rig/nightly.ts: such a test lacks nothing here. */
const ONLY_NIGHTLY = "only in the nightly workflow";

export default async function* report(source) {
  const started = performance.now();
  const failed = [];
  const failedFiles = new Set();
  const seconds = new Map();
  const printed = new Map();
  const parents = new Map();
  let passed = 0;
  const skipped = new Map();
  let dots = 0;

  for await (const { type, data } of source) {
    const file = data.file === undefined ? "" : relative(process.cwd(), data.file);
    switch (type) {
      case "test:start":
        parents.set(`${file}:${data.nesting}`, data.name);
        break;
      case "test:diagnostic":
        // What a file throws after its tests; it has no name yet, and fails next.
        if (/^(?:Error|Warning):/.test(data.message)) yield `\n${data.message}\n`;
        break;
      case "test:stderr":
      case "test:stdout":
        printed.set(file, `${printed.get(file) ?? ""}${data.message}`.slice(-4000));
        break;
      case "test:pass":
      case "test:fail": {
        const { nesting, name, details } = data;
        if (nesting === 0) seconds.set(file, (seconds.get(file) ?? 0) + details.duration_ms / 1000);
        const error = details.error;
        // A group fails because of its tests, which have been reported.
        if (details.type === "suite" || error?.failureType === "subtestsFailed") break;
        if (type === "test:pass") {
          const reason = data.skip ?? data.todo;
          if (reason === undefined) passed += 1;
          else skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
          dots += 1;
          yield dots % width === 0 ? ".\n" : ".";
          break;
        }
        const path = [];
        for (let level = 0; level < nesting; level += 1) path.push(parents.get(`${file}:${level}`));
        // What fails under the name of its file is the file as a whole.
        const title =
          resolve(name) === data.file ? file : `${file}: ${[...path, name].join(" > ")}`;
        failed.push(title);
        failedFiles.add(data.file);
        yield `${dots % width === 0 ? "" : "\n"}\n✖ ${title}\n${indented(reasonOf(error))}\n`;
        // A file that ends before its tests do, or fails to load, says why on its own.
        if (nesting === 0 && error?.exitCode !== undefined)
          yield `${indented(printed.get(file) ?? "")}\n`;
        yield "\n";
        dots = 0;
        break;
      }
      default:
        break;
    }
  }

  const files = [...seconds].sort(([, a], [, b]) => b - a);
  yield "\n\nThe slowest files:\n";
  for (const [file, time] of files.slice(0, 10))
    yield `${time.toFixed(1).padStart(8)} s  ${file}\n`;
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  const nightly = skipped.get(ONLY_NIGHTLY) ?? 0;
  skipped.delete(ONLY_NIGHTLY);
  const left = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  const later = nightly === 0 ? "" : ` (and ${nightly} left to the nightly workflow)`;
  yield `\n${passed} passed, ${failed.length} failed, ${left} skipped${later}, in ${minutes} minutes\n`;
  for (const [reason, count] of skipped)
    if (typeof reason === "string") yield `${count} skipped: ${reason}\n`;
  for (const title of failed) yield `✖ ${title}\n`;
  const list = process.env["AGENT_JOBS_FAILED_TESTS"];
  if (list !== undefined) writeFileSync(list, JSON.stringify([...failedFiles]));
}

function reasonOf(error) {
  const cause = error?.cause ?? error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
}

function indented(text) {
  return text.trimEnd().replaceAll(/^/gm, "  ");
}
