/** A command in a container: the arguments of `docker run`, and the end of a container whose client is gone. */
import { randomUUID } from "node:crypto";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { runToEnd } from "../platform/programs.ts";
import type { Container } from "./preparation.ts";
import { marks, RESULTS, type Program, type ProgramsOptions } from "./programs.ts";

/** A command in a container of an image that has been built, with the working directory at the same path as here. */
export function inContainer(
  { docker, image }: Container,
  [program = "", ...args]: readonly string[],
  { workingDirectory, variables, container = {} }: ProgramsOptions,
  files: readonly string[] = [],
): Pick<Program, "path" | "command" | "isDocker" | "cleanUp"> {
  const name = `agent-jobs-${randomUUID()}`;
  const { uid, gid } = ids();
  const results = container[RESULTS];
  const command = [
    "docker",
    "run",
    "--rm",
    "--interactive",
    "--init",
    "--name",
    name,
    ...(uid === undefined ? [] : ["--user", `${uid}:${gid}`]),
    "--mount",
    mount(workingDirectory, false),
    ...[...files, ...(results === undefined ? [] : [results])].flatMap((path) => [
      "--mount",
      mount(path, true),
    ]),
    "--workdir",
    workingDirectory,
    // Docker reads the values from its own environment, so that they are in no list of processes.
    ...[...Object.keys(container), ...marks].flatMap((variable) => ["--env", variable]),
    "--env",
    "HOME=/tmp",
    "--entrypoint",
    program,
    image,
    ...args,
  ];
  // Docker's client may be gone while the container runs on.
  const cleanUp = async (): Promise<void> => {
    const options = { path: docker, cwd: workingDirectory, env: variables };
    const { signal, end } = startTimeLimit(systemClock, 10_000);
    await runToEnd("docker", ["rm", "--force", name], { ...options, signal });
    end();
  };
  return { path: docker, command, isDocker: true, cleanUp };
}

function ids(): { readonly uid: number | undefined; readonly gid: number | undefined } {
  return { uid: process.getuid?.(), gid: process.getgid?.() };
}

/** Docker reads the option as a line of CSV. */
function mount(path: string, readOnly: boolean): string {
  const fields = [
    "type=bind",
    `source=${path}`,
    `target=${path}`,
    ...(readOnly ? ["readonly"] : []),
  ];
  return fields
    .map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(",");
}
