/** What a run came to as one file in a format that other programs read, written at its end. */
import type { Reporter } from "../events/sink.ts";
import { applyEvent, createRunView, type RunView } from "../events/view.ts";
import { OwnFile } from "../platform/own-file.ts";

/** Until the end, the file stays as it was. Throws if it can't be written. */
export function createViewFile(
  title: string,
  path: string,
  render: (view: RunView) => string,
): Reporter & { abandon(): void } {
  const file = new OwnFile(title, path);
  const view = createRunView();
  return {
    name: title,
    essential: true,
    abandon: () => file.abandon(),
    report(event) {
      applyEvent(view, event);
    },
    async close() {
      file.writeAll([render(view)]);
      await file.close();
    },
  };
}
