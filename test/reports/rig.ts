import { gunzipSync } from "node:zlib";
import type { RunEvent } from "../../src/events/event.ts";
import type { ReportBoot } from "../../src/reports/html/boot.ts";

export interface ReadReport {
  readonly boot: ReportBoot;
  readonly events: readonly RunEvent[];
  /** The script of the page. */
  readonly script: string;
  /** Its content security policy. */
  readonly policy: string;
  /** The file without the contents of its scripts and its style. */
  readonly markup: string;
  /** The boot data as they are in the file. */
  readonly bootText: string;
}

/** Takes a report apart, as a browser would. */
export function readReport(html: string): ReadReport {
  const contents: string[] = [];
  const markup = html.replace(
    /(<(script|style)\b[^>]*>)(.*?)<\/\2>/gs,
    (_all, begin: string, name: string, content: string) => {
      contents.push(content);
      return `${begin}</${name}>`;
    },
  );
  const [_style, bootText = "", base64 = "", script = ""] = contents;
  const boot: ReportBoot = JSON.parse(bootText);
  const lines = gunzipSync(Buffer.from(base64, "base64")).toString().split("\n");
  const events = lines.filter((line) => line !== "").map((line): RunEvent => JSON.parse(line));
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(markup)?.[1] ?? "";
  return { boot, events, script, policy, markup, bootText };
}
