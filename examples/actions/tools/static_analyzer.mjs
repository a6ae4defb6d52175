// Looks for warnings in the log of a build. Results that are too long for a prompt are files in AGENT_JOBS_RESULTS,
// with the id of their action at the end of the name.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "node:stream/consumers";

const rulesets = {
  default: { "no-todo": /TODO/ },
  strict: { "no-todo": /TODO/, "no-console": /\bconsole\./, "no-var": /\bvar\b/ },
};

const { source_task_id: id, ruleset } = await json(process.stdin);
const folder = process.env.AGENT_JOBS_RESULTS ?? ".";
const name = readdirSync(folder).find((file) => file.endsWith(`-${id}.txt`));
if (name === undefined) throw new Error(`There is no log of ${id}.`);
const { log } = JSON.parse(readFileSync(join(folder, name), "utf8"));

const warnings = log
  .filter(({ kept }) => kept)
  .flatMap(({ file, line, text }) => {
    const rules = Object.entries(rulesets[ruleset]).filter(([, rule]) => rule.test(text));
    return rules.map(([rule]) => ({ file, line, rule }));
  });
console.log(JSON.stringify({ source_task_id: id, ruleset, lines: log.length, warnings }));
