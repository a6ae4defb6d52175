import { createRedactor } from "../events/redact.ts";
import type { ModelAccess } from "./options.ts";

// What people call their secrets. `PAT`, `PASS`, `AUTH` and `KEY` as whole words: `PATH` is none.
const SECRET_NAME =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE_?KEY|API[_-]?KEY|ACCESS_?KEY|(?:^|_)(?:PAT|PASS|AUTH|KEY)(?:$|_)/i;
const MIN_LENGTH = 8;

/** Every value that must not leave the process: what we were given, and what our environment calls a secret. */
export function knownSecrets({
  provider,
  gitHubToken,
  environment,
}: ModelAccess): readonly string[] {
  const values = Object.entries(environment).flatMap(([name, value = ""]) =>
    SECRET_NAME.test(name) ? [value, ...passwords(value)] : passwords(value),
  );
  return [
    ...[provider?.apiKey, gitHubToken].filter((value) => value !== undefined && value !== ""),
    ...passwords(provider?.baseUrl ?? ""),
    ...values.filter((value) => value.length >= MIN_LENGTH),
  ].filter((value) => value !== undefined);
}

/** For what a front-end says beside the events of a run. */
export function withoutSecrets(text: string, access: ModelAccess): string {
  return createRedactor(knownSecrets(access)).text(text);
}

/** Of the URL that a value is, such as a proxy's (often without a scheme) or a database's: as it stands there, and decoded. */
function passwords(value: string): readonly string[] {
  const [, password] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/?#:@]*:([^\s/?#]+)@/i.exec(value) ?? [];
  if (password === undefined || password.length < MIN_LENGTH) return [];
  return [password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
