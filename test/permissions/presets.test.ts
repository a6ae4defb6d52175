import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PermissionPreset, Permissions } from "../../src/entry/model.ts";
import { ceilPermissions, effectivePermissions, ruleSet } from "../../src/permissions/rules.ts";

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
