/** Server-sent events in a stream of text, wherever it is split. Pure. */

export interface ServerEvent {
  /** The last one that was sent, with this event or before it. */
  readonly id: string;
  readonly data: string;
}

export class EventParser {
  #rest = "";
  #id = "";
  #data: string[] = [];

  /** The events that end in this piece. */
  push(text: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    // A carriage return at the end may be half of a line break.
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) {
        events.push({ id: this.#id, data: this.#data.join("\n") });
        this.#data = [];
      }
    }
    return events;
  }

  #field(line: string): void {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
  }
}
