import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PermissionRequest } from "@github/copilot-sdk";
import * as fc from "fast-check";
import type { PermissionPreset, Permissions } from "../../src/entry/model.ts";
import { diffOf } from "../rig/diff.ts";
import {
  fromRuntime,
  permissionHandler,
  realFiles,
} from "../../src/sessions/permission-handler.ts";
import {
  canStartProcesses,
  ceilPermissions,
  effectivePermissions,
  toolsFor,
  ruleSet,
} from "../../src/permissions/rules.ts";
import { decidePermission, describePermissions } from "../../src/permissions/policy.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { rounds } from "../rig/nightly.ts";

/** A file system of three folders: links are a map, `missing` does not exist, everything else does. */
const links: Readonly<Record<string, string>> = {
  "/repo/link": "/outside",
  "/repo/file-link": "/outside/secret",
  "/repo/inner-link": "/repo/src",
  "/alias": "/repo",
  "/repo/planted": "/proc/self/cwd",
  "/repo/planted-twice": "planted/sub",
  "/repo/process": "/proc/1",
  "/repo/planted-deep": "process/../self/cwd",
  "/repo/round": "round",
};

function realpath(path: string): string {
  if (path.includes("loop")) throw Object.assign(new Error("loop"), { code: "ELOOP" });
  if (path.includes("missing")) throw Object.assign(new Error("missing"), { code: "ENOENT" });
  for (const [link, target] of Object.entries(links)) {
    if (path === link || path.startsWith(`${link}/`)) return target + path.slice(link.length);
  }
  return path;
}

const files = {
  realpath,
  isThere: (path: string): boolean => !path.includes("missing") || path.endsWith("missing-target"),
  linkTarget: (path: string): string | undefined => links[path],
};
const context = { workingDirectory: "/repo", ...files };

function read(path: string, intention = "Read file: x"): PermissionRequest {
  return { kind: "read", path, intention };
}

function resolved(path: string, resolvedPath: string): PermissionRequest {
  return { kind: "read", path, resolvedPath, intention: "Read file: x" };
}

/** A request that a runtime of another version might send. */
function strange(fields: object): PermissionRequest {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return fields as PermissionRequest;
}

function write(
  fileName: string,
  diff = diffOf(fileName),
  intention = "Edit file",
): PermissionRequest {
  return { kind: "write", fileName, diff, intention, canOfferSessionApproval: false };
}

function shell(fullCommandText: string): PermissionRequest {
  return {
    kind: "shell",
    fullCommandText,
    intention: "",
    commands: [],
    possiblePaths: [],
    possibleUrls: [],
    hasWriteFileRedirection: false,
    canOfferSessionApproval: false,
  };
}

function url(address: string): PermissionRequest {
  return { kind: "url", url: address, intention: "" };
}

function ok(permissions: Permissions, request: PermissionRequest): boolean {
  return decidePermission(permissions, fromRuntime(request), context).kind === "allowed";
}

describe("files", () => {
  const cases: readonly (readonly [Permissions, PermissionRequest, boolean])[] = [
    ["read-only", read("/repo/a"), true],
    ["read-only", read("/repo"), true],
    ["read-only", read("a/b"), true],
    ["read-only", read("/alias/a"), true],
    ["read-only", read("/repo/inner-link/a"), true],
    ["read-only", read("/repo/missing/new"), true],
    ["read-only", read("/workshop/a"), false],
    ["read-only", read("/repo/../etc/passwd"), false],
    ["read-only", read("../etc/passwd"), false],
    ["read-only", read("/repo/link/a"), false],
    ["read-only", read("/repo/link/missing"), false],
    ["read-only", read("/repo/file-link"), false],
    ["read-only", read("/repo/loop"), false],
    ["read-only", read(""), false],
    ["read-only", read("/repo/a\n/etc"), false],
    ["read-only", read("/repo/.git/config"), false],
    ["read-only", read("/repo/sub/.GIT/config"), false],
    ["read-only", read("/repo/.netrc"), false],
    ["read-only", read("/repo/gha-creds-0123456789abcdef.json"), false],
    ["workspace", write("/repo/.npmrc"), false],
    [{ read: [".npmrc"] }, read("/repo/.npmrc"), true],
    [{ read: [".ssh/*"] }, read("/repo/.ssh/config"), true],
    [{ read: ["gha-creds-*.json"] }, read("/repo/gha-creds-1.json"), true],
    [{ read: ["**/*.json"] }, read("/repo/gha-creds-1.json"), false],
    ["read-only", read("/repo/.github/workflows/ci.yml"), true],
    ["read-only", read("/repo/.gitignore"), true],
    ["read-only", resolved("/repo/a", "/etc/passwd"), false],
    ["read-only", resolved("/repo/a", "/repo/b"), true],
    ["read-only", read("/repo/link/../a"), false],
    ["read-only", read("link/../a"), false],
    ["read-only", read("/repo/src/../a"), true],
    ["read-only", read("/repo/inner-link/../a"), true],
    ["read-only", read("/repo/missing/../../etc/passwd"), false],
    ["read-only", read("/proc/self/cwd/a"), false],
    ["read-only", read("/repo/planted/a"), false],
    ["read-only", read("planted-twice/../a"), false],
    ["read-only", read("/repo/planted-deep/a"), false],
    ["read-only", read("/repo/process/../../repo/a"), false],
    ["read-only", read("/repo/round"), false],
    ["read-only", write("/repo/a"), false],
    [{ read: ["/**"] }, read("/proc/self/cwd/a"), false],
    [{ read: ["/**"] }, read("/dev/fd/3"), false],
    [{ read: ["/**"] }, read("/dev/stdin"), false],
    [{ read: ["/**"] }, read("/devices/proc/a"), true],
    [{ preset: "all", read: ["!secrets/**"] }, read("/repo/planted/secrets/a"), false],
    [{ write: ["**"] }, write("/repo/planted/a"), false],
    ["all", read("/proc/self/status"), true],
    [{ read: ["/outside/**"] }, read("/repo/link/a"), true],
    [{ read: ["/outside/**"] }, read("/etc/passwd"), false],
    [{ read: ["**"] }, read("/repo/.git/config"), false],
    [{ read: [".git/config"] }, read("/repo/.git/config"), true],
    [{ read: ["!secrets/**"] }, read("/repo/secrets/a"), false],
    [{ read: ["!secrets/**"] }, read("/repo/SECRETS/a"), false],
    [{ read: ["!secrets/"] }, read("/repo/secrets/a"), false],
    [{ read: ["!./secrets/**"] }, read("/repo/secrets/a"), false],
    [{ read: ["secrets/**", "!secrets/**"] }, read("/repo/secrets/a"), false],
    [{ preset: "all", read: ["!secrets/**"] }, read("/repo/secrets/a"), false],
    [{ read: ["!secrets/**"] }, read("/repo/src/a"), true],
    [{ read: ["!secrets/**"] }, read("/repo", "Search in directory: /repo"), false],
    [{ read: ["!secrets/**"] }, read("/repo", "List directory: /repo"), true],
    [{ read: ["!secrets/**"] }, read("/repo/src", "Search in directory: /repo/src"), true],
    [{ read: ["!**/*.pem"] }, read("/repo/src", "Search in directory: /repo/src"), false],
    [{ read: ["!secrets/**"] }, read("/repo", "Something new: /repo"), false],
    ["workspace", write("/repo/a"), true],
    ["workspace", write("/repo/missing/a"), true],
    ["workspace", write("/repo/link/missing"), false],
    ["workspace", write("/outside/a"), false],
    ["workspace", write("/repo/.git/hooks/pre-commit"), false],
    ["workspace", write("/repo/a", diffOf("/repo/b", "/repo/a"), "Move file"), true],
    ["workspace", write("/repo/a", diffOf("/outside/b", "/repo/a"), "Move file"), false],
    ["workspace", write("/repo/a", diffOf("/repo/link/b", "/repo/a")), false],
    ["workspace", write("/repo/a", "", "Move and update file"), false],
    ["workspace", write("/repo/a", `${diffOf("/dev/null", "/repo/a")}--- a/outside\n`), true],
    ["workspace", write("/repo/a", diffOf("/repo/a", "/dev/null")), true],
    [{ write: ["docs/**"] }, write("/repo/docs/a.md"), true],
    [{ write: ["docs/**"] }, write("/repo/src/a"), false],
    [{ preset: "workspace", write: ["!*.lock"] }, write("/repo/a.lock"), false],
    ["all", write("/outside/a"), true],
    ["all", read("/etc/passwd"), true],
  ];
  for (const [permissions, request, expected] of cases) {
    it(`${JSON.stringify(permissions)} ${expected ? "allows" : "denies"} ${JSON.stringify(request)}`, () => {
      assert.equal(ok(permissions, request), expected);
    });
  }

  it("follows links of a real file system, also below folders that are not there yet", async (t) => {
    const outside = await makeWorkspace(t);
    const inside = await makeWorkspace(t);
    symlinkSync(outside.path, join(inside.path, "link"));
    symlinkSync(join(outside.path, "not-yet"), join(inside.path, "dangling"));
    symlinkSync("self", join(inside.path, "self"));
    mkdirSync(join(inside.path, "sub"));
    const real = { workingDirectory: inside.path, ...realFiles };
    const decide = (path: string): boolean =>
      decidePermission("workspace", fromRuntime(write(path)), real).kind === "allowed";
    assert.equal(decide(join(inside.path, "sub/new/file")), true);
    assert.equal(decide(join(inside.path, "sub/../link/new/file")), false);
    // To the operating system this is next to the folder that the link leads to.
    assert.equal(decide(`${inside.path}/link/../file`), false);
    assert.equal(decide(`${inside.path}/sub/../file`), true);
    assert.equal(decide("sub/../file"), true);
    assert.equal(decide("sub/../../file"), false);
    assert.equal(decide(join(inside.path, "self/file")), false);
    assert.equal(decide(join(inside.path, "dangling")), false, "would be created outside");
  });
});

describe("commands, addresses and tools", () => {
  const cases: readonly (readonly [Permissions, PermissionRequest, boolean])[] = [
    ["read-only", shell("ls"), false],
    ["workspace", shell("anything $(goes) > here"), true],
    [{ shell: true }, shell("rm -rf /"), true],
    [{ shell: ["*", "!git push"] }, shell("for i in $(ls); do rm $i; done"), true],
    [{ shell: ["*", "!git push"] }, shell("for i in $(ls); do git push; done"), false],
    [{ shell: ["ls *"] }, shell("ls -l"), true],
    [{ shell: ["ls *"] }, shell("ls -l; id"), false],
    [{ shell: ["!ls"] }, shell("id"), false],
    [{ preset: "workspace", shell: ["!git push"] }, shell("git pull && git push -f"), false],
    [{ preset: "workspace", shell: ["!git push"] }, shell("git pull"), true],
    [{ preset: "all", shell: ["!git push"] }, shell("git push"), false],
    ["workspace", url("https://example.com/"), false],
    ["all", url("https://example.com/"), true],
    [{ preset: "all", url: ["!example.com"] }, url("https://example.com/x"), false],
    [{ url: ["example.com"] }, url("https://example.com/x?y=z"), true],
    [{ url: ["example.com"] }, url("http://example.com/"), false],
    [{ url: ["example.com"] }, url("https://example.com.evil/"), false],
    [{ url: ["example.com"] }, url("https://example.com@evil/"), false],
    [{ url: ["example.com"] }, url("https://evil/example.com"), false],
    [{ url: ["example.com"] }, url("https://evil/?https://example.com/"), false],
    [{ url: ["example.com"] }, url("https://example.com:8443/"), false],
    [{ url: ["https://*.example.com/docs/*"] }, url("https://a.b.example.com/docs/x/y"), true],
    [{ url: ["https://*.example.com/docs/*"] }, url("https://evil.com/.example.com/docs/x"), false],
    [{ url: ["https://*.example.com/docs/*"] }, url("https://a.example.com/docs/../x"), false],
    [{ url: ["*"] }, url("file:///etc/passwd"), false],
    [{ url: ["*"] }, url("not a url"), false],
  ];
  for (const [permissions, request, expected] of cases) {
    it(`${JSON.stringify(permissions)} ${expected ? "allows" : "denies"} ${JSON.stringify(request)}`, () => {
      assert.equal(ok(permissions, request), expected);
    });
  }

  it("on Windows, only patterns that deny commands count", () => {
    const decide = (permissions: Permissions): string =>
      decidePermission(permissions, fromRuntime(shell("git log")), {
        ...context,
        platform: "win32",
      }).kind;
    assert.equal(decide({ shell: ["git log *"] }), "denied");
    assert.equal(decide({ preset: "workspace", shell: ["!git log"] }), "denied");
    assert.equal(decide({ preset: "workspace", shell: ["!rm"] }), "allowed");
    assert.equal(decide({ shell: ["*"] }), "allowed");
    assert.equal(decide({ shell: true }), "allowed");
    assert.equal(decide("workspace"), "allowed");
  });

  it("anything else needs its name, or the preset all", () => {
    const tool = { kind: "custom-tool", toolName: "deploy", toolDescription: "" } as const;
    assert.equal(ok("workspace", tool), false);
    assert.equal(ok({ tools: ["deploy"] }, tool), true);
    assert.equal(ok({ preset: "all", tools: ["!deploy"] }, tool), false);
    const mcp = {
      kind: "mcp",
      serverName: "s",
      toolName: "t",
      toolTitle: "",
      readOnly: true,
    } as const;
    assert.equal(ok("workspace", mcp), false);
    assert.equal(ok({ tools: ["s/t"] }, mcp), true);
    const hook = { kind: "hook", toolName: "x" } as const;
    assert.equal(ok("workspace", hook), false);
    assert.equal(ok("all", hook), true);
  });

  it("what an organization's policy wants a person to approve is denied", () => {
    assert.equal(ok("all", { ...shell("ls"), managedApprovalRequired: true }), false);
  });
});

describe("the tool list", () => {
  it("has the reading tools and the job tools always, the rest only when something allows it", () => {
    assert.deepEqual(toolsFor("read-only"), [
      "builtin:view",
      "builtin:grep",
      "builtin:rg",
      "builtin:glob",
      "custom:*",
    ]);
    assert.deepEqual(toolsFor({}), toolsFor("read-only"));
    assert.deepEqual(toolsFor({ shell: ["!rm"] }), toolsFor("read-only"));
    assert.ok(toolsFor({ shell: ["ls"] }).includes("builtin:bash"));
    assert.ok(!toolsFor({ shell: ["ls"] }).includes("builtin:create"));
    assert.ok(toolsFor({ write: ["docs/**"] }).includes("builtin:apply_patch"));
    assert.ok(toolsFor({ url: ["example.com"] }).includes("builtin:web_fetch"));
    assert.ok(
      !toolsFor("workspace").some(
        (name) => /task|sql|agent|web_fetch|\*$/.test(name) && name !== "custom:*",
      ),
    );
    assert.ok(toolsFor({ tools: ["sql"] }).includes("builtin:sql"));
    assert.deepEqual(toolsFor("all"), ["builtin:*", "mcp:*", "custom:*"]);
    assert.ok(!toolsFor({ preset: "all", tools: ["!task"] }).includes("builtin:task"));
  });

  it("says whether it can start processes", () => {
    assert.equal(canStartProcesses("read-only"), false);
    assert.equal(canStartProcesses({ write: ["a"] }), false);
    assert.equal(canStartProcesses({ shell: ["ls"] }), true);
    assert.equal(canStartProcesses({ tools: ["task"] }), true);
    assert.equal(canStartProcesses("workspace"), true);
    assert.equal(canStartProcesses("all"), true);
  });
});

describe("whose word counts", () => {
  it("a task's permissions replace the entry's; the option is the default and the ceiling", () => {
    assert.equal(effectivePermissions(undefined, undefined, undefined), "read-only");
    assert.equal(effectivePermissions(undefined, undefined, "all"), "all");
    assert.equal(effectivePermissions("workspace", undefined, undefined), "workspace");
    assert.equal(effectivePermissions("workspace", "read-only", undefined), "read-only");
    assert.deepEqual(effectivePermissions("all", "all", "workspace"), { preset: "workspace" });
    assert.deepEqual(effectivePermissions("all", undefined, "read-only"), { preset: "read-only" });
    assert.equal(effectivePermissions("read-only", undefined, "all"), "read-only");
  });

  const pattern = fc.constantFrom(
    ..."a/** /outside/** ../x ** !b/** !**/*.pem .git/config .env {a,.env} {a,..}/c".split(" "),
  );
  const commands = fc.constantFrom("ls *", "*", "!rm *", "git push");
  const rules = fc.record(
    {
      preset: fc.constantFrom<PermissionPreset>("read-only", "workspace", "all"),
      read: fc.array(pattern, { maxLength: 3 }),
      write: fc.array(pattern, { maxLength: 3 }),
      shell: fc.oneof(fc.constant<true>(true), fc.array(commands, { maxLength: 3 })),
      url: fc.array(fc.constantFrom("*", "example.com", "!example.com"), { maxLength: 2 }),
      tools: fc.array(fc.constantFrom("sql", "task", "!task", "bash", "s/t"), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  const paths = fc.constantFrom(
    ..."/repo/a/b /repo/b/c /repo/x.pem /outside/a /x /repo/.git/config".split(" "),
    ..."/repo/.env /repo/.gitignore /c /repo/link/a /repo".split(" "),
  );
  const requests = fc.oneof(
    paths.map((path) => read(path)),
    paths.map((path) => read(path, `Search in directory: ${path}`)),
    paths.map((path) => write(path)),
    fc.constantFrom("ls -l", "rm x", "git push", "ls; rm x", "$(x)").map(shell),
    fc.constantFrom("https://example.com/", "https://other.example/").map(url),
  );

  it("a ceiling keeps no pattern for what the preset keeps away", () => {
    assert.deepEqual(ceilPermissions({ write: [".env", "a/.git/x", "b"] }, "workspace"), {
      preset: "read-only",
      write: ["b"],
    });
    assert.deepEqual(ceilPermissions({ write: [".gitignore", ".env.example"] }, "workspace"), {
      preset: "read-only",
      write: [".gitignore", ".env.example"],
    });
  });

  it("a ceiling allows nothing that either side denies", () => {
    const ceilings = fc.constantFrom<PermissionPreset>("read-only", "workspace", "all");
    fc.assert(
      fc.property(rules, ceilings, requests, (stated, ceiling, request) => {
        const result = ceilPermissions(stated, ceiling);
        if (!ok(result, request)) return;
        assert.ok(ok(stated, request), `not in the entry: ${JSON.stringify(result)}`);
        assert.ok(ok(ceiling, request), `above the ceiling: ${JSON.stringify(result)}`);
      }),
      rounds(5_000),
    );
    fc.assert(
      fc.property(rules, ceilings, (stated, ceiling) => {
        if (ceiling === "all") return;
        const most = new Set(toolsFor(ceiling));
        for (const tool of toolsFor(ceilPermissions(stated, ceiling)))
          assert.ok(most.has(tool), tool);
      }),
    );
  });
});

describe("the handler", () => {
  it("tells the model what is allowed, and the runner what was denied", () => {
    const told: unknown[] = [];
    const handler = permissionHandler({
      permissions: { shell: ["git diff *"] },
      workingDirectory: "/repo",
      files,
      onActivity: (activity) => told.push(activity),
    });
    assert.deepEqual(handler(shell("git diff")), { kind: "approve-once" });
    assert.deepEqual(told, []);
    const answer = handler(shell("rm x"));
    assert.equal(answer.kind, "reject");
    assert.match(JSON.stringify(answer), /rm x.*matches no pattern.*You may only read.*git diff/);
    assert.deepEqual(told, [
      {
        kind: "permission.denied",
        operation: "shell",
        target: "rm x",
        reason: '"rm x" matches no pattern of permissions.shell. Allowed: "git diff *"',
      },
    ]);
  });

  it("denies what it doesn't understand or can't check, and never throws", () => {
    const realpath = (): string => {
      throw new TypeError("broken");
    };
    for (const broken of [false, true]) {
      const handler = permissionHandler({
        permissions: "workspace",
        workingDirectory: "/repo",
        files: broken ? { ...files, realpath } : files,
        onActivity: () => {
          throw new Error("listener");
        },
      });
      if (broken) assert.equal(handler(read("/repo/a")).kind, "reject");
      for (const fields of [
        { kind: "read" },
        { kind: "read", path: 7, intention: "" },
        { kind: "write" },
        { kind: "write", diff: "", intention: "" },
        { kind: "url" },
        { kind: "from-the-future" },
        {},
      ])
        assert.equal(handler(strange(fields)).kind, "reject", JSON.stringify(fields));
    }
  });

  it("describes itself", () => {
    assert.match(
      describePermissions("read-only"),
      /may only read and search files in the working directory; and call the job tools/,
    );
    assert.match(describePermissions("workspace"), /write files.*run shell commands/);
    assert.match(describePermissions("all"), /Everything/);
    assert.match(describePermissions({ url: ["example.com"] }), /fetch example\.com/);
  });
});

describe("a preset that is none", () => {
  for (const preset of ["READ-ONLY", "", "toString", "__proto__", 1, null, ["all"]]) {
    it(`is refused by every road: ${JSON.stringify(preset)}`, () => {
      // eslint-disable-next-line typescript/no-unsafe-type-assertion
      const name = preset as PermissionPreset;
      // eslint-disable-next-line typescript/no-unsafe-type-assertion
      const forms = [preset, { preset }, { preset, shell: ["ls"] }] as unknown as Permissions[];
      const roads: (() => unknown)[] = [
        ...forms.flatMap((permissions) => [
          () => ruleSet(permissions),
          () => ceilPermissions(permissions, "all"),
          () => effectivePermissions(permissions, "read-only", undefined),
          () => effectivePermissions(undefined, permissions, "all"),
        ]),
        () => ceilPermissions("all", name),
        () => effectivePermissions("all", undefined, name),
        () => effectivePermissions(undefined, undefined, name),
      ];
      for (const road of roads) assert.throws(road, /permissions.*read-only, workspace or all/);
    });
  }
});
