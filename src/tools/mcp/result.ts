/** What an MCP server answers to a call, as the outcome of a tool: bounded, and without secrets. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { isList, isRecord, isText } from "../../document/guards.ts";
import { clip } from "../../events/cut.ts";
import type { TextStream } from "../../redaction/text-stream.ts";
import { redactedData, redactedText } from "../redacted-data.ts";
import { longestResult } from "../tool-output.ts";
import type { ToolOutcome } from "../tool.ts";

/** Of the reason of a failure. */
const longestReason = 8_192;

/** Texts are joined, including those of resources; all else is described. A structured result takes their place. */
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
    if (whole.length > longestResult) return tooLong(whole.length);
    const text = await redactedText(whole, redact);
    return {
      kind: "failed",
      reason: clip(text, longestReason) || "The tool failed without a reason.",
    };
  }
  const value = structuredContent === undefined ? textOf(parts) : withoutMedia(structuredContent);
  const size = typeof value === "string" ? value.length : JSON.stringify(value).length;
  if (size > longestResult) return tooLong(size);
  return { kind: "succeeded", value: await redactedData(value, redact) };
}

function textOf(parts: readonly ContentBlock[]): string {
  return parts.map(partText).join("\n");
}

function partText(part: ContentBlock): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return `[${part.type}: ${part.mimeType}, ${bytesOfBase64(part.data)} bytes]`;
    case "resource_link":
      return `[resource: ${described(part.uri, part.mimeType)}]`;
    case "resource": {
      const { resource } = part;
      const what = described(resource.uri, resource.mimeType);
      return "text" in resource
        ? `[resource: ${what}]\n${resource.text}`
        : `[resource: ${what}, ${bytesOfBase64(resource.blob)} bytes]`;
    }
  }
}

/** Some servers repeat images in the structured result, and a model can't read base64. */
function withoutMedia(value: unknown): unknown {
  if (isList(value)) return value.map(withoutMedia);
  if (!isRecord(value)) return value;
  const { type, data, mimeType, uri, blob } = value;
  if ((type === "image" || type === "audio") && isText(data) && isText(mimeType)) {
    return `[${type}: ${mimeType}, ${bytesOfBase64(data)} bytes]`;
  }
  if (isText(uri) && isText(blob)) {
    return `[resource: ${uri}, ${bytesOfBase64(blob)} bytes]`;
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutMedia(one)]));
}

function described(uri: string, mimeType: string | undefined): string {
  return mimeType === undefined ? uri : `${uri}, ${mimeType}`;
}

function bytesOfBase64(data: string): number {
  return Math.floor((data.replace(/(?<!=)=+$/, "").length * 3) / 4);
}

function tooLong(size: number): ToolOutcome {
  const reason = `The result has ${megabytes(size)} MB, more than ${megabytes(longestResult)} MB.`;
  return { kind: "failed", reason };
}

function megabytes(size: number): string {
  return (size / 1e6).toFixed(size % 1e6 === 0 ? 0 : 1);
}
