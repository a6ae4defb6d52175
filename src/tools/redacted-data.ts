/** The result of a tool may have ten megabytes: it is redacted in parts, and the event loop runs between them. */
import { truncateUnredacted, truncate } from "../text/truncate.ts";
import { redactedValue } from "../redaction/redactor.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { EventLoopYielder } from "../platform/waiting.ts";

/** UTF-16 units: a part takes a few milliseconds at most. */
const part = 32 * 1024;

/** More is redacted than shown, so that a secret at the end is found as a whole. */
const edge = 64 * 1024;

export function redactedBeginning(
  text: string,
  length: number,
  redact: (text: string) => string,
): string {
  return truncate(redact(truncateUnredacted(text, length + edge)), length, "…");
}

export async function redactedText(text: string, redact: () => TextStream): Promise<string> {
  const [redacted = ""] = await redactedTexts([text], redact);
  return redacted;
}

export async function redactedData(value: unknown, redact: () => TextStream): Promise<unknown> {
  const texts: string[] = [];
  redactedValue(value, (text) => {
    texts.push(text);
    return text;
  });
  const redacted = (await redactedTexts(texts, redact)).values();
  return redactedValue(value, () => redacted.next().value ?? "");
}

async function redactedTexts(
  texts: readonly string[],
  redact: () => TextStream,
): Promise<readonly string[]> {
  const yielder = new EventLoopYielder();
  const redacted: string[] = [];
  for (const text of texts) {
    const stream = redact();
    let passed = "";
    for (let from = 0; from < text.length; from += part) {
      passed += stream.push(text.slice(from, from + part));
      await yielder.yieldIfDue();
    }
    redacted.push(passed + stream.end());
  }
  return redacted;
}
