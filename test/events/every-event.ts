/** Events of every kind, each with every field that it may have, made from their schema. */
import {
  eventCheck,
  eventSchema,
  type RunEvent,
  type RunEventBody,
} from "../../src/events/event.ts";
import { isList, isRecord, isText } from "../../src/text/guards.ts";

/** Trees of work are as deep. */
const DEPTH = 2;

type Schema = Readonly<Record<string, unknown>>;

/** Among them are all cases of the schema, but not all combinations. */
function examplesOf(schema: unknown, depth = 0): readonly unknown[] {
  if (!isRecord(schema)) return ["anything"];
  const { $ref, anyOf, oneOf, properties, items, prefixItems, additionalProperties } = schema;
  if (isText($ref)) {
    const all = examplesOf(Object(eventSchema["$defs"])[$ref.split("/").at(-1) ?? ""], depth + 1);
    // A sequence contains all kinds of work.
    if (depth === 0) return all.filter((one) => isRecord(one) && isList(one["works"]));
    return depth < DEPTH ? all : all.slice(0, 1);
  }
  if ("const" in schema) return [schema["const"]];
  if (isList(schema["enum"])) return schema["enum"];
  const cases = [anyOf, oneOf].filter(isList).flat();
  if (cases.length > 0) {
    const [common] = isRecord(properties) ? examplesOf({ properties }, depth) : [];
    const isLeaf = (one: unknown): boolean => !JSON.stringify(one).includes('"$ref"');
    return cases
      .filter((one) => depth < DEPTH || isLeaf(one))
      .flatMap((one) => examplesOf(one, depth))
      .map((one) => (isRecord(one) ? { ...one, ...Object(common) } : one));
  }
  if (isRecord(properties)) return zipped(properties, depth);
  if (isList(prefixItems))
    return zipped(Object.fromEntries(prefixItems.entries()), depth).map((one) =>
      Object.values(Object(one)),
    );
  if (items !== undefined) return [examplesOf(items, depth)];
  if (isRecord(additionalProperties))
    return [Object.fromEntries(examplesOf(additionalProperties, depth).entries())];
  switch ([schema["type"]].flat()[0]) {
    case "string":
      return ["text"];
    case "boolean":
      return [true, false];
    case "null":
      return [null];
    case "integer":
    case "number":
      return [1];
    default:
      return ["anything"];
  }
}

function zipped(fields: Schema, depth: number): readonly unknown[] {
  const all = Object.entries(fields).map(([name, of]) => [name, examplesOf(of, depth)] as const);
  const most = Math.max(1, ...all.map(([, values]) => values.length));
  return Array.from({ length: most }, (_, index) =>
    Object.fromEntries(all.map(([name, values]) => [name, values[index % values.length]])),
  );
}

export const everyEvent: readonly RunEventBody[] = examplesOf(eventSchema).map((value) => {
  const problems = eventCheck.problems(value);
  if (problems.length > 0) throw new Error(JSON.stringify([problems, value]));
  const event: RunEvent = JSON.parse(JSON.stringify(value));
  const { at: _at, runId: _run, past: _past, leg: _leg, ...body } = event;
  return body;
});
