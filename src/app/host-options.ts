/** Checks the options of a `JobHost` when it is made: a program in JavaScript has no types to do that. */
import { validateEntry } from "../entry/prepare.ts";
import { DiagnosticsError } from "../document/diagnostic.ts";
import { didYouMean, suggest } from "../document/suggest.ts";
import { permissionPresets } from "../entry/model.ts";
import { providerTypes, wireApis, type JobHostOptions, type ProviderOptions } from "./options.ts";

type Fields = Readonly<Record<string, unknown>>;
/** Says what is wrong with the value of that name. */
type Check = (value: unknown, name: string) => readonly string[];

const hostFields: Readonly<Record<keyof JobHostOptions, Check>> = {
  provider: (value, name) => problemsOf(value, name, providerFields, ["baseUrl"]),
  gitHubToken: text,
  runtimePath: text,
  environment: must(isFields, "be an object of variables"),
  permissions: permissionsProblems,
  limits: limitsProblems,
  transport: must((value) => hasFunction(value, "send"), "have a function send"),
  tools: must(
    (value) => listOf(value, (tool) => isFields(tool) && isText(tool["name"])),
    "be a list of tools, each with a name",
  ),
  reporters: must(
    (value) => listOf(value, (reporter) => hasFunction(reporter, "report")),
    "be a list of reporters, each with a function report",
  ),
};

const providerFields: Readonly<Record<keyof ProviderOptions, Check>> = {
  type: oneOf(providerTypes),
  baseUrl: must(isAddress, "be an address such as http://127.0.0.1:11434/v1"),
  apiKey: text,
  wireApi: oneOf(wireApis),
};

/** Throws a TypeError that names every problem. */
export function checkHostOptions(options: unknown): void {
  const problems = problemsOf(options, "", hostFields, []);
  if (problems.length === 0) return;
  throw new TypeError(`The options of JobHost are wrong: ${problems.join("; ")}.`);
}

function problemsOf(
  value: unknown,
  owner: string,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[],
): string[] {
  if (!isFields(value)) return [`${owner === "" ? "they" : owner} must be an object`];
  const nameOf = (field: string): string => (owner === "" ? field : `${owner}.${field}`);
  const found = Object.entries(value).flatMap(([field, given]) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check !== undefined) return given === undefined ? [] : check(given, nameOf(field));
    const known = Object.keys(checks);
    const guess = suggest(field, known);
    const hint = guess === undefined ? `known are ${known.join(", ")}` : didYouMean(guess);
    return [`${nameOf(field)} is unknown: ${hint}`];
  });
  const missing = required.filter((field) => value[field] === undefined);
  return [...found, ...missing.map((field) => `${nameOf(field)} is missing`)];
}

/** As the entry's own limits are checked. */
function limitsProblems(limits: unknown, name: string): string[] {
  const entry = {
    models: { driving: "m" },
    tasks: { t: { prompt: "p", model: { category: "driving" } } },
    jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
    limits,
  };
  try {
    validateEntry(entry, "");
    return [];
  } catch (error) {
    if (!(error instanceof DiagnosticsError)) throw error;
    return error.diagnostics.map(({ codePath, reason, hint }) => {
      const place = codePath.replace(/^entry\.limits/, name);
      return `${place}: ${reason.replace(/\.$/, "")}${hint === undefined ? "" : `, ${hint}`}`;
    });
  }
}

function permissionsProblems(preset: unknown, name: string): string[] {
  if (isText(preset) && permissionPresets.some((known) => known === preset)) return [];
  const guess = isText(preset) ? suggest(preset, permissionPresets) : undefined;
  const hint = guess === undefined ? "" : `: ${didYouMean(guess)}`;
  return [`${name} is ${JSON.stringify(preset)}, not ${permissionPresets.join(", ")}${hint}`];
}

function must(fits: (value: unknown) => boolean, what: string): Check {
  return (value, name) => (fits(value) ? [] : [`${name} must ${what}`]);
}

function oneOf(known: readonly string[]): Check {
  return must((value) => isText(value) && known.includes(value), `be ${known.join(", ")}`);
}

function text(value: unknown, name: string): readonly string[] {
  return isText(value) ? [] : [`${name} must be a text`];
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isAddress(value: unknown): boolean {
  return isText(value) && /^https?:\/\//i.test(value) && URL.canParse(value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown, fits: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => fits(one));
}

function hasFunction(value: unknown, name: string): boolean {
  return (
    typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function"
  );
}
