import assert from "node:assert/strict";
import { describe, it } from "node:test";
import picomatch from "picomatch";
import { isPrivate, privateGlobs } from "../../src/permissions/private-files.ts";

const cases: Readonly<Record<string, boolean | "to us">> = {
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
  ".envrc": false,
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
  const match = picomatch(
    privateGlobs.map((glob) => glob.replace(/^!/, "")),
    { dot: true, posix: true },
  );
  for (const [name, expected] of Object.entries(cases)) {
    it(`is ${expected === false ? "not " : ""}${name}`, () => {
      for (const path of [name, `a/${name}/b`, `a\\${name}`])
        assert.equal(isPrivate(path), expected !== false, path);
      for (const path of [name, `a/b/${name}`]) assert.equal(match(path), expected === true, path);
    });
  }
});
