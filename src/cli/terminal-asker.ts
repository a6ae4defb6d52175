/** A `\` at the end of a line goes on to the next. What was typed before the question answers nothing. */
import { createInterface } from "node:readline";
import type { ReadStream } from "node:tty";
import { onAbort, yieldToEventLoop } from "../platform/waiting.ts";
import type { TerminalPause } from "../reports/terminal/terminal-reporter.ts";
import { harmless, oneLine } from "../text/harmless-text.ts";
import type { Answer, Asker, Question } from "../workflow/model.ts";
import { withoutSecrets } from "../run/secrets.ts";
import { truncate } from "../text/truncate.ts";

export interface AskTerminal {
  readonly input: ReadStream;
  readonly output: NodeJS.WritableStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ctrl-C, which is no signal while a line is edited. */
  readonly interrupt: () => void;
}

export interface TerminalAsker {
  readonly asker: Asker;
  /** For the terminal reporter: makes the log wait for the answer. */
  readonly pause: TerminalPause;
}

export function createTerminalAsker(terminal: AskTerminal): TerminalAsker {
  const pause: TerminalPause = { setPaused: () => {} };
  let last: Promise<unknown> = Promise.resolve();
  const asker: Asker = (question, signal) => {
    const answer = last.then(async () => {
      if (signal.aborted) return canceled;
      pause.setPaused(true);
      try {
        return await ask(terminal, question, signal);
      } finally {
        pause.setPaused(false);
      }
    });
    last = answer.catch(() => {});
    return answer;
  };
  return { asker, pause };
}

const canceled: Answer = { kind: "unanswered", reason: "The run was canceled." };

/** A model may have written the question. */
const MAX_QUESTION = 20_000;

async function ask(
  { input, output, environment, interrupt }: AskTerminal,
  { activity, question, work }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const text = harmless(withoutSecrets(question, { environment })).trim();
  const shown = truncate(text, MAX_QUESTION, "…");
  const heading = `${activity} of ${oneLine(work.taskId, 200)} asks`;
  output.write(shown === "" ? `\n${heading}.\n` : `\n${heading}:\n${shown}\n`);
  await dropTyped(input, interrupt);
  if (signal.aborted) return canceled;
  return new Promise((resolve) => {
    const lines: string[] = [];
    const editor = createInterface({
      input,
      output,
      terminal: true,
      prompt: "> ",
      historySize: 0,
      crlfDelay: Infinity,
    });
    let ended = false;
    let release = (): void => {};
    const end = (answer: Answer): void => {
      if (ended) return;
      ended = true;
      release();
      editor.close();
      if (answer.kind === "unanswered") output.write("\n");
      resolve(answer);
    };
    let waiting = false;
    const answerUnlessMore = (): void => {
      waiting = false;
      const last = lines.at(-1) ?? "";
      const isContinued = last.endsWith("\\");
      if (isContinued) lines.splice(-1, 1, last.slice(0, -1));
      // The rest of a paste that doesn't end with a line break waits in the editor.
      if (isContinued || editor.line !== "") editor.prompt(true);
      else end({ kind: "answered", text: lines.join("\n") });
    };
    editor.on("line", (line) => {
      lines.push(line);
      if (waiting) return;
      waiting = true;
      // The lines of a paste come at once.
      void yieldToEventLoop().then(answerUnlessMore);
    });
    editor.on("SIGINT", interrupt);
    editor.on("close", () =>
      end(
        lines.length > 0
          ? { kind: "answered", text: lines.join("\n") }
          : { kind: "unanswered", reason: `The person gave no answer to ${activity} (Ctrl-D).` },
      ),
    );
    release = onAbort(signal, () => end(canceled));
    editor.prompt();
  });
}

/** Empties what the terminal has for us: some turns of the event loop are enough to read it. */
async function dropTyped(input: ReadStream, interrupt: () => void): Promise<void> {
  const drop = (typed: Buffer): void => {
    if (typed.includes("\u0003")) interrupt();
  };
  input.setRawMode(true);
  input.on("data", drop);
  for (let turn = 0; turn < 3; turn += 1) await yieldToEventLoop();
  input.off("data", drop);
}
