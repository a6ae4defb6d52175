/** What the warnings of entries need to know about permissions and credentials. */
import type { WarningChecks } from "../entry/warnings.ts";
import { holdsCredential } from "../redaction/redactor.ts";
import { unmatchable } from "../permissions/commands.ts";
import { allowsServer, ruleSet, toolsFor, toolVerdict } from "../permissions/rules.ts";

export const warningChecks: WarningChecks = {
  checkCommandPattern: unmatchable,
  toolPermissions: (permissions) => {
    const rules = ruleSet(permissions);
    const offered = toolsFor(permissions);
    return {
      allowsTool: (name) => toolVerdict(rules, name) === "allowed",
      allowsServer: (name) => allowsServer(permissions, name),
      offers: (name) => offered.includes("builtin:*") || offered.includes(`builtin:${name}`),
    };
  },
  hasCredential: holdsCredential,
};
