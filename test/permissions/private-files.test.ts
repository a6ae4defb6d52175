import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { partsMatch, readGlob } from "../../src/entry/glob.ts";
import { isPrivate, privateGlobs } from "../../src/permissions/private-files.ts";

const cases: Readonly<Record<string, boolean | "to us" | "in no search">> = {
  ".git": true,
  ".GIT": "to us",
  ".git-credentials": true,
  ".gitignore": false,
  ".github": false,
  ".netrc": true,
  _netrc: true,
  ".npmrc": true,
  "a.npmrc": false,
  ".pypirc": true,
  ".ssh": true,
  ".sshd": false,
  ".env": true,
  ".Env": "to us",
  ".envrc": true,
  ".envrc~": true,
  ".env~": true,
  ".env.local~": true,
  ".env.~1~": true,
  ".env copy": true,
  ".npmrc copy": "to us",
  ".env-local": true,
  ".env_local": true,
  "#.env#": true,
  ".#.env": true,
  "..env.un~": true,
  "._.env": true,
  ".env.swp": true,
  ".envelope": false,
  ".netrc.bak": true,
  "._netrc.swp": true,
  ".npmrc.swp": true,
  ".npmrc.example": false,
  "#.npmrc": true,
  ".npmrc.dpkg-old": "to us",
  "_netrc.bak": true,
  ".pypirc.orig": true,
  ".git-credentials.orig": true,
  ".git.bak": true,
  ".git-blame-ignore-revs": false,
  ".gitattributes": false,
  ".gitignore~": "in no search",
  ".ssh~": true,
  "gha-creds-1.json~": true,
  "#gha-creds-1.json#": "to us",
  ".env.un~": true,
  ".env.save": true,
  ".env.local.old": true,
  ".env.kate-swp": true,
  ".env,v": "to us",
  ".env%": "to us",
  "~.env": "to us",
  "~$.env": "to us",
  ".~lock..env#": "to us",
  ".npmrc-backup": "to us",
  ".netrc-old": "to us",
  ".pypirc_old": "to us",
  ".git-credentials-2": "to us",
  ".env::$DATA": "to us",
  ".env:stream": "to us",
  "x:.env": false,
  "env.ts": false,
  ".env.local": true,
  ".env.LOCAL": true,
  ".env.production-eu": true,
  ".env.development": true,
  ".env.test": true,
  ".env.staging": true,
  ".env.docker": true,
  ".env.e": true,
  ".env.exampl": "to us",
  ".env.examples": "to us",
  ".env.example.local": "to us",
  ".env.d": true,
  ".env.default": "to us",
  ".env.example": false,
  ".env.example-eu": false,
  ".env.sample": false,
  ".env.template": false,
  ".env.dist": false,
  ".env.defaults": false,
  "gha-creds-0123456789abcdef.json": true,
  "gha-creds-.JSON": "to us",
  "gha-creds.json": false,
  "gha-creds-1.txt": false,
};

describe("a file of credentials", () => {
  const match = (path: string): boolean =>
    privateGlobs.some((glob) => {
      const read = readGlob(glob.slice(1));
      assert.ok(typeof read !== "string");
      return read.some(({ parts }) => partsMatch(parts, path.split("/"), false));
    });
  for (const [name, expected] of Object.entries(cases)) {
    const secret = expected === true || expected === "to us";
    const leftOut = expected === true || expected === "in no search";
    it(`is ${secret ? "" : "not "}${name}`, () => {
      for (const path of [name, `a/${name}/b`, `a\\${name}`])
        assert.equal(isPrivate(path), secret, path);
      for (const path of [name, `a/b/${name}`]) assert.equal(match(path), leftOut, path);
    });
  }
});
