import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { isList, isRecord, isText, parsedJson } from "../../text/guards.ts";
import { truncate } from "../../text/truncate.ts";
import type { TextStream } from "../../redaction/secret-search.ts";
import { redactedData, redactedText } from "../tool-output.ts";
import { longestResult } from "../tool-output.ts";
import { failed, type ToolOutcome } from "../tool.ts";

const longestReason = 8_192;

export async function outcomeOf(
  result: CallToolResult,
  redact: () => TextStream,
): Promise<ToolOutcome> {
  const { structuredContent, isError, content } = result;
  // A result of the first protocol version may have none, and types don't reach a server.
  const parts: readonly ContentBlock[] = Array.isArray(content) ? content : [];
  if (isError === true) {
    const whole = textOf(parts);
    // A part of a secret is not recognized, so nothing is cut off before.
    if (whole.length > longestResult) return tooLong;
    const text = await redactedText(whole, redact);
    return failed(truncate(text, longestReason, "…") || "The tool failed without a reason.");
  }
  const value =
    structuredContent === undefined
      ? textOf(parts)
      : together(withoutMedia(structuredContent), parts.map(partText));
  const size = typeof value === "string" ? value.length : JSON.stringify(value).length;
  if (size > longestResult) return tooLong;
  return { kind: "succeeded", value: await redactedData(value, redact) };
}

/** Most servers repeat the structured result as text. Only text that it lacks is added beside its fields. */
function together(value: unknown, texts: readonly string[]): unknown {
  const repeated = new Set<string>();
  const collect = (one: unknown, depth: number): void => {
    if (isText(one)) repeated.add(one.trim());
    // The whole, a field, or an item of a field is repeated; deeper, this would take too long.
    else if (depth < 3) repeated.add(canonical(one));
    if (typeof one !== "object" || one === null) return;
    for (const inner of Object.values(one)) collect(inner, depth + 1);
  };
  collect(value, 0);
  const isRepeated = (text: string): boolean => {
    const json = withoutMedia(parsedJson(text));
    return repeated.has(text.trim()) || (json !== undefined && repeated.has(canonical(json)));
  };
  const content = texts.filter((text) => text.trim() !== "" && !isRepeated(text)).join("\n");
  if (content === "") return value;
  return isRecord(value) && !("content" in value)
    ? { ...value, content }
    : { structuredContent: value, content };
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).toSorted(byKey)) : one,
  );
}

const byKey = ([one]: [string, unknown], [other]: [string, unknown]): number =>
  one < other ? -1 : 1;

function textOf(parts: readonly ContentBlock[]): string {
  return parts.map(partText).join("\n");
}

function partText(part: ContentBlock): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return media(part.type, part.mimeType, part.data);
    case "resource_link":
      return `[resource: ${part.uri}]`;
    case "resource": {
      const { resource } = part;
      return "text" in resource
        ? `[resource: ${resource.uri}]\n${resource.text}`
        : media("resource", resource.uri, resource.blob);
    }
  }
}

/** Some servers repeat images in the structured result, and a model can't read base64. */
function withoutMedia(value: unknown): unknown {
  if (isList(value)) return value.map(withoutMedia);
  if (!isRecord(value)) return value;
  const { type, data, mimeType, uri, blob } = value;
  if ((type === "image" || type === "audio") && isText(data) && isText(mimeType)) {
    return media(type, mimeType, data);
  }
  if (isText(uri) && isText(blob)) return media("resource", uri, blob);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutMedia(one)]));
}

function media(kind: string, what: string, base64: string): string {
  return `[${kind}: ${what}, ${Buffer.byteLength(base64, "base64")} bytes]`;
}

const tooLong = failed(`The result has more than ${longestResult / 1e6} MB.`);
