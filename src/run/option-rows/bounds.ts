/** Options that bound a run, and rehearsals. */
import { permissionPresets, sandboxModes } from "../../entry/model.ts";
import * as kind from "../option-kinds.ts";
import type { Rows } from "./row.ts";

export const boundOptions = {
  permissions: {
    kind: kind.choice(permissionPresets),
    help: "The default permissions if the entry sets none, and an upper bound if it does.",
    risk: "with `all`, the agent reads and writes every file of the runner's user and reaches every host.",
    group: "Bounds",
    page: "permissions.md#the-option---permissions",
    flag: "--permissions <preset>",
    on: ["run", "serve", "action", "host"],
  },
  sandbox: {
    kind: kind.choice(sandboxModes),
    help: "Whether programs run in a sandbox, if stricter than `permissions.sandbox` of the entry. `off` is refused unless the entry sets it, too.",
    group: "Bounds",
    page: "permissions.md#the-sandbox",
    flag: "--sandbox <mode>",
    on: ["run", "serve", "action", "host"],
  },
  maxParallel: {
    kind: kind.count,
    help: "Maximum number of concurrent turns. Overrides the entry's `limits.parallel` (8).",
    group: "Bounds",
    flag: "--max-parallel <n>",
    on: ["run", "serve"],
  },
  timeoutMinutes: {
    kind: kind.amount,
    help: "Time limit of the job. Overrides the entry's `limits.jobMinutes` (60).",
    group: "Bounds",
    flag: "--timeout-minutes <n>",
    on: ["run", "serve"],
  },
  rehearse: {
    kind: kind.text,
    help: "A rehearsal file, whose script plays the model.",
    group: "Rehearsals",
    flag: "--rehearse <file>",
    on: ["run", "serve"],
  },
  inPlace: {
    kind: kind.flag,
    help: "A rehearsal works in the folder itself instead of a copy.",
    group: "Rehearsals",
    page: "rehearsals.md#the-folder-it-works-in",
    flag: "--in-place",
    on: ["run", "serve", "host"],
  },
  record: {
    kind: kind.filled,
    help: "The file to record this run in, as a rehearsal.",
    group: "Rehearsals",
    page: "rehearsals.md#recordings",
    flag: "--record <file>",
    on: ["run"],
  },
} as const satisfies Rows;
