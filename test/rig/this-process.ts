/** Runs a program of ours in the process of the tests, which saves the start of another one. */

/** The working directory and the environment belong to the whole process, so one program runs after the other. */
let queue: Promise<unknown> = Promise.resolve();

/** In a folder, with nothing of our environment but PATH, HOME and `env`. */
export function inThisProcess<T>(
  cwd: string,
  env: Readonly<Record<string, string>>,
  run: () => Promise<T>,
): Promise<T> {
  const ended = queue.then(() => runHere(cwd, env, run));
  queue = ended.catch(() => undefined);
  return ended;
}

async function runHere<T>(
  cwd: string,
  env: Readonly<Record<string, string>>,
  run: () => Promise<T>,
): Promise<T> {
  const [cwdBefore, envBefore] = [process.cwd(), { ...process.env }];
  const { PATH = "", HOME = "" } = process.env;
  process.chdir(cwd);
  setEnvironment({ PATH, HOME, ...env });
  try {
    return await run();
  } finally {
    setEnvironment(envBefore);
    process.chdir(cwdBefore);
  }
}

/** In place: Node itself reads some variables, such as TMPDIR, from the process and not from `process.env`. */
function setEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}
