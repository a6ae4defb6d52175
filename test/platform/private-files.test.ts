import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPrivate } from "../../src/platform/private-files.ts";

/** Names between spaces. */
const secret = `
  .git .GIT .git-credentials .netrc _netrc .npmrc .pypirc .ssh .env .Env .envrc .envrc~ .env~
  .env.local~ .env.~1~ .env-local .env_local #.env# .#.env ..env.un~ ._.env .env.swp .netrc.bak
  ._netrc.swp .npmrc.swp #.npmrc .npmrc.dpkg-old _netrc.bak .pypirc.orig .git-credentials.orig
  .git.bak .ssh~ gha-creds-1.json~ #gha-creds-1.json# .env.un~ .env.save .env.local.old
  .env.kate-swp .env,v .env% ~.env ~$.env .~lock..env# .npmrc-backup .netrc-old .pypirc_old
  .git-credentials-2 .env::$DATA .env:stream .env.local .env.LOCAL .env.production-eu
  .env.development .env.test .env.staging .env.docker .env.e .env.exampl .env.examples
  .env.example-eu .env.example-prod .env.sample_2 .env.example~ .env.pub .npmrc.pub id_rsa id_ed25519.bak
  .env.example.local .env.d .env.default gha-creds-0123456789abcdef.json gha-creds-.JSON
`;
const open = `
  .gitignore .github a.npmrc .sshd .envelope .npmrc.example .git-blame-ignore-revs
  .gitattributes .gitignore~ x:.env env.ts .env.example .ENV.Example .env.sample id_rsa.pub ID_ED25519.PUB
  .env.template .env.dist .env.defaults gha-creds.json gha-creds-1.txt
`;
const cases = [
  ...[...secret.trim().split(/\s+/), ".env copy", ".npmrc copy"].map(
    (name) => [name, true] as const,
  ),
  ...open
    .trim()
    .split(/\s+/)
    .map((name) => [name, false] as const),
];

describe("a file of credentials", () => {
  for (const [name, isSecret] of cases) {
    it(`is ${isSecret ? "" : "not "}${name}`, () => {
      for (const path of [name, `a/${name}/b`, `a\\${name}`])
        assert.equal(isPrivate(path), isSecret, path);
    });
  }
});
