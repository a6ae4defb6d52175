import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import { isText } from "../text/guards.ts";
import { decoded, type ModelAccess } from "./options-provider.ts";

// Common names of secrets. The short ones are whole words: `PATH` is no `PAT`, `COMPASS` no `PASS`,
// `AUTHOR` no `AUTH`; and `PWD` alone is the current directory.
const anywhere =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|CREDENTIAL|PRIVATE_?(?:KEY|PEM)|API[_-]?KEY|ACCESS_?KEY|WEBHOOK|DSN|JWT|COOKIE|CONN(?:ECTION)?_?STR/i;
const asWord =
  /(?:^|[_-])(?:PAT|PASS|KEY|KEYS|CREDS?|PIN|OTP|TOTP|SAS|SALT|HMAC|BEARER|PEM|PFX|MNEMONIC|O?AUTH2?(?!OR(?!I))\w*)(?:$|[_-])|(?:[_-]|SQL|DB|USER|ROOT|ADMIN)(?:PWD|PASS)(?:$|[_-])/i;

/** `key=value,…`, in which a collector's key is, or that of a gateway. */
const headersName = /^(?:OTEL_EXPORTER_OTLP_(?:\w+_)?|AGENT_JOBS_PROVIDER_)HEADERS$/;

/** Shorter values are masked nowhere (`redaction/secret-search.ts`). */
const MIN_LENGTH = 4;
/** A value that is shorter than this may be an ordinary word or number. */
const SHORT = 8;
/** Names of settings about a secret: `MAX_TOKENS` is a number, `TOKEN_TYPE` a word. */
const setting =
  /(?:^|[_-])(?:TOKENS|COUNT|LIMIT|MAX|MIN|SIZE|LENGTH|TTL|AGE|EXPIRY|EXPIRES|TIMEOUT|SECONDS|MINUTES|HOURS|DAYS|TYPE|MODE|METHOD|PROVIDER|NAME|USER|ENABLED|DISABLED|REQUIRED|ALGORITHM|VERSION|PORT)$|(?:^|[_-])(?:ENABLE|DISABLE|USE|HAS|IS|REQUIRE|MAX|MIN)[_-]/i;
/** Never secrets, and masking them would destroy every text. */
const ordinary = new Set(
  `true false none null auto default always never required optional enabled enable disabled disable
   main master develop test tests prod production staging local public private basic bearer token secret
   password admin root user guest https http file string json yaml open read write`.split(/\s+/),
);

/** Every value that must not leave the process: from the options, and from variables of the environment with the name of a secret. */
export function knownSecrets({
  provider,
  gitHubToken,
  environment,
}: ModelAccess): readonly string[] {
  const values = Object.entries(environment).flatMap(([name, value = ""]) =>
    headersName.test(name)
      ? headerValues(value).filter((part) => isSecret(part, false))
      : hasSecretName(name)
        ? [value, ...partsOf(value)].filter((part) => isSecret(part, setting.test(name)))
        : partsOf(value).filter((part) => isSecret(part, false)),
  );
  return [
    ...[provider?.apiKey, gitHubToken].filter(isText).filter((value) => value !== ""),
    ...partsOf(provider?.baseUrl ?? ""),
    ...Object.values(provider?.headers ?? {}).flatMap(headerWords),
    ...values,
  ].filter((value) => value !== undefined);
}

/** The secret parts of a secret value, whatever its variable is called. */
export function secretsIn(value: string): readonly string[] {
  return [value, ...partsOf(value)].filter((part) => isSecret(part, false));
}

export function hasSecretName(name: string): boolean {
  return anywhere.test(name) || asWord.test(name);
}

function isSecret(value: string, isSetting: boolean): boolean {
  const { length } = value.trim();
  if (length < MIN_LENGTH) return false;
  return length >= SHORT || (!isSetting && !ordinary.has(value.trim().toLowerCase()));
}

export class HostMasking {
  readonly #access: ModelAccess;
  readonly #secrets = new Set<string>();
  #redactor: Redactor | undefined;

  constructor(access: ModelAccess) {
    this.#access = access;
  }

  /** Stays the same until `renew`, because it remembers texts that are under way. */
  get redactor(): Redactor {
    this.#redactor ??= createRedactor([...knownSecrets(this.#access), ...this.#secrets]);
    return this.#redactor;
  }

  add(secrets: readonly string[]): void {
    for (const secret of secrets) {
      this.#secrets.add(secret);
      this.#redactor?.addSecret(secret);
    }
  }

  /** Nothing is under way. */
  renew(): void {
    this.#redactor = undefined;
  }
}

/** For the output of a front-end that is no event of a run. */
export function withoutSecrets(text: string, access: ModelAccess): string {
  return createRedactor(knownSecrets(access)).text(text);
}

/** The password of a URL (a proxy's often has no scheme), and what a connection string calls its password or key. */
function partsOf(value: string): readonly string[] {
  const [, password] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/?#:@]*:([^\s/?#]+)@/i.exec(value) ?? [];
  const named = value.matchAll(
    /(?:^|[;&?\s])(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedaccesssignature|sig|secret|access_token)=([^;&\s]+)/gi,
  );
  const parts = [
    ...(password === undefined ? [] : [password]),
    ...[...named].map(([, part = ""]) => part),
  ];
  return parts.flatMap((part) => [part, decoded(part)]);
}

function headerValues(headers: string): readonly string[] {
  return headers.split(",").flatMap((header) => {
    const value = header.slice(header.indexOf("=") + 1).trim();
    return [value, ...headerWords(decoded(value))];
  });
}

/** A header may be `Bearer KEY`. */
function headerWords(value: string): readonly string[] {
  return [value, ...value.split(" ")].filter((word) => isSecret(word, false));
}
