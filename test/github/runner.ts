/**
 * How a GitHub runner reads the output of a step: what of it is a command. Stricter than the runner
 * where its comparison depends on its machine: characters that are not seen never hide a marker.
 */

import { knownCommands } from "../rig/runner.ts";

export interface RunnerCommand {
  readonly name: string;
  readonly properties: string;
  readonly data: string;
}

const unseen = /[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\uFFFD]/gu;

export function commandsOf(output: string): RunnerCommand[] {
  const commands: RunnerCommand[] = [];
  let stopToken: string | undefined;
  for (const line of output.split(/\r\n|[\r\n\u0085\u2028\u2029\v\f]/)) {
    const registered = new Set(knownCommands);
    if (stopToken !== undefined) registered.add(stopToken.toLowerCase());
    const command = parse(line.replace(unseen, ""), registered);
    if (command === undefined) continue;
    if (stopToken !== undefined) {
      if (command.name === stopToken.toLowerCase()) stopToken = undefined;
      continue;
    }
    commands.push(command);
    if (command.name === "stop-commands") stopToken = command.data;
  }
  return commands;
}

/** Like `commandsOf`, but nothing stops commands. */
export function allCommandsOf(output: string): RunnerCommand[] {
  return output
    .split(/\r\n|[\r\n\u0085\u2028\u2029\v\f]/)
    .flatMap((line) => parse(line.replace(unseen, ""), knownCommands) ?? []);
}

function parse(line: string, registered: ReadonlySet<string>): RunnerCommand | undefined {
  return parseNew(line, registered) ?? parseOld(line, registered);
}

/** `::name properties::data` at the start of a trimmed line. */
function parseNew(line: string, registered: ReadonlySet<string>): RunnerCommand | undefined {
  const message = line.trimStart();
  const end = message.indexOf("::", 2);
  if (!message.startsWith("::") || end === -1) return undefined;
  return commandOf(message.slice(2, end), message.slice(end + 2), registered);
}

/** `##[name properties]data` anywhere: every place counts, not only the first. */
function parseOld(line: string, registered: ReadonlySet<string>): RunnerCommand | undefined {
  for (let from = line.indexOf("##["); from !== -1; from = line.indexOf("##[", from + 1)) {
    const end = line.indexOf("]", from);
    if (end === -1) return undefined;
    const command = commandOf(line.slice(from + 3, end), line.slice(end + 1), registered);
    if (command !== undefined) return command;
  }
  return undefined;
}

function commandOf(
  info: string,
  data: string,
  registered: ReadonlySet<string>,
): RunnerCommand | undefined {
  const [name = "", ...properties] = info.split(" ");
  const command = name.toLowerCase();
  if (!registered.has(command)) return undefined;
  return { name: command, properties: properties.join(" "), data };
}
