import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import type { ModelAccess } from "./options-provider.ts";
import { knownSecrets } from "./secrets.ts";

/** The redactor of a host. It knows the secrets of its options, and those of the entries that it has run. */
export class HostMasking {
  readonly #access: ModelAccess;
  readonly #secrets = new Set<string>();
  #redactor: Redactor | undefined;

  constructor(access: ModelAccess) {
    this.#access = access;
  }

  /** The same one until `renew`: it remembers the texts that are under way. */
  get redactor(): Redactor {
    this.#redactor ??= createRedactor([...knownSecrets(this.#access), ...this.#secrets]);
    return this.#redactor;
  }

  /** Are masked from now on. */
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
