import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PermissionPreset, Permissions } from "../../src/entry/model.ts";
import { decidePermission, describePermissions } from "../../src/permissions/policy.ts";
import {
  canStartProcesses,
  ceilPermissions,
  effectivePermissions,
  ruleSet,
  toolsFor,
} from "../../src/permissions/rules.ts";
import { permissionHandler, realFiles } from "../../src/sessions/permission-handler.ts";

const context = { workingDirectory: "/", ...realFiles };

describe("a preset that is none", () => {
  const wrong = [
    "readonly",
    "read_only",
    "READ-ONLY",
    "",
    "toString",
    "__proto__",
    1,
    null,
    ["all"],
  ];
  for (const preset of wrong) {
    it(`is refused by every road: ${JSON.stringify(preset)}`, () => {
      // eslint-disable-next-line typescript/no-unsafe-type-assertion
      const name = preset as PermissionPreset;
      // eslint-disable-next-line typescript/no-unsafe-type-assertion
      const forms = [preset, { preset }, { preset, shell: ["ls"] }] as unknown as Permissions[];
      for (const permissions of forms) {
        const roads: (() => unknown)[] = [
          () => ruleSet(permissions),
          () => toolsFor(permissions),
          () => canStartProcesses(permissions),
          () => describePermissions(permissions),
          () => decidePermission(permissions, { kind: "url", url: "https://x" }, context),
          () => ceilPermissions(permissions, "all"),
          () => ceilPermissions(permissions, "workspace"),
          () => effectivePermissions(permissions, undefined, undefined),
          () => effectivePermissions(permissions, "read-only", undefined),
          () => effectivePermissions(undefined, permissions, "all"),
          () => permissionHandler({ permissions, workingDirectory: "/", onActivity: () => {} }),
        ];
        for (const road of roads) assert.throws(road, /permissions.*read-only, workspace or all/);
      }
      const ceilings: (() => unknown)[] = [
        () => ceilPermissions("all", name),
        () => effectivePermissions("all", undefined, name),
        () => effectivePermissions(undefined, undefined, name),
      ];
      for (const road of ceilings) assert.throws(road, /permissions.*read-only, workspace or all/);
    });
  }
});
