/**
 * Stands in for the runtime: starts the real one, passes everything on, and counts the messages by method.
 *
 *   node wire.js RUNTIME RESULT-FILE [ARGUMENT...]
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const [, , runtime = "", resultFile = "", ...args] = process.argv;
const counts = new Map<string, number>();
const child = spawn(runtime, args, { stdio: ["pipe", "pipe", "inherit"] });

function counter(direction: string): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      const [, length] = /Content-Length: (\d+)/i.exec(rest.subarray(0, end).toString()) ?? [];
      if (end < 0 || length === undefined || rest.length < end + 4 + Number(length)) return;
      const text = rest.subarray(end + 4, end + 4 + Number(length)).toString();
      rest = rest.subarray(end + 4 + Number(length));
      const name = nameOf(text);
      if (name !== undefined) {
        counts.set(`${direction} ${name}`, (counts.get(`${direction} ${name}`) ?? 0) + 1);
      }
    }
  };
}

/** Undefined for an answer. Of an event, its type as well. */
function nameOf(text: string): string | undefined {
  const message: unknown = JSON.parse(text);
  const method = field(message, "method");
  if (typeof method !== "string") return undefined;
  const params = field(message, "params");
  const type = method === "session.event" ? field(field(params, "event"), "type") : undefined;
  return typeof type === "string" ? `${method} ${type}` : method;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

const toRuntime = counter(">");
const fromRuntime = counter("<");
process.stdin.on("data", (data: Buffer) => {
  toRuntime(data);
  child.stdin.write(data);
});
process.stdin.on("end", () => child.stdin.end());
child.stdout.on("data", (data: Buffer) => {
  fromRuntime(data);
  process.stdout.write(data);
  writeFileSync(resultFile, JSON.stringify([...counts]));
});
child.on("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => child.kill("SIGTERM"));
