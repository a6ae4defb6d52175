/**
 * The key of a model server from a command of the user, such as an exchange of an OIDC token. The command runs outside
 * of any sandbox, with the whole environment of this process, and anew before its key expires or when the server has
 * refused it. Requests that need a key at the same time share one run.
 */
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { outputOf } from "../platform/programs.ts";
import { systemClock } from "../platform/system-clock.ts";
import type { KeySource } from "../sessions/provider.ts";
import { isRecord, parsedJson } from "../text/guards.ts";

export interface TokenCommand {
  /** For bash. */
  readonly command: string;
  /** The folder in which it runs. */
  readonly folder: string;
  readonly environment: Environment;
  /** The name of its option, as the user writes it. */
  readonly option: string;
  readonly clock?: Clock;
}

/** The lifetime of a key that doesn't name its expiry. */
const UNKNOWN_MS = 10 * 60_000;
/** A request may take a while until the server reads its key. */
const EARLY_MS = 2 * 60_000;
const MOST_CHARACTERS = 100_000;
const bash = ["--noprofile", "--norc", "-eo", "pipefail", "-c"];

export function keyFromCommand(given: TokenCommand): KeySource {
  const { clock = systemClock } = given;
  let known: { readonly key: string; readonly until: number } | undefined;
  let running: Promise<string> | undefined;
  const run = async (): Promise<string> => {
    const key = await keyOf(given);
    const begun = clock.now();
    const expires = expiryOf(key);
    known = { key, until: expires === undefined ? begun + UNKNOWN_MS : expires - EARLY_MS };
    return key;
  };
  return (rejected) => {
    if (known !== undefined && known.key !== rejected && clock.now() < known.until)
      return Promise.resolve(known.key);
    running ??= run().finally(() => (running = undefined));
    return running;
  };
}

async function keyOf({ command, folder, environment, option }: TokenCommand): Promise<string> {
  const call = { cwd: folder, env: environment };
  const output = await outputOf("bash", [...bash, command], call).catch((error: unknown) => {
    throw new Error(`${option} failed: ${error instanceof Error ? error.message : String(error)}`);
  });
  const key = output.toString().trim();
  if (key === "") throw new Error(`${option} printed nothing`);
  if (!/^[!-~]+$/.test(key) || key.length > MOST_CHARACTERS)
    throw new Error(`${option} must print nothing but the key, without spaces and line breaks`);
  return key;
}

/** Milliseconds since the epoch, if the key is a JWT with an expiry. */
function expiryOf(key: string): number | undefined {
  const [, payload = "", signature] = key.split(".");
  if (signature === undefined) return undefined;
  const claims = parsedJson(Buffer.from(payload, "base64url").toString());
  const expires = isRecord(claims) ? claims["exp"] : undefined;
  return typeof expires === "number" ? expires * 1000 : undefined;
}
