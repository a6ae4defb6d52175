import type { ModelAccess } from "./options.ts";

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE_?KEY|API_?KEY|ACCESS_?KEY/i;

/** Every value that must not leave the process: what we were given, and what our environment calls a secret. */
export function knownSecrets({
  provider,
  gitHubToken,
  environment,
}: ModelAccess): readonly string[] {
  const named = Object.entries(environment).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined && value.length >= 8 ? [value] : [],
  );
  return [provider?.apiKey, gitHubToken, ...named].filter(
    (value): value is string => value !== undefined && value !== "",
  );
}
