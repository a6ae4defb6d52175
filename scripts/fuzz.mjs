// Runs the fuzz suites (test/fuzz) by time: ten minutes together, or as many as the first argument says.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const minutes = Number(process.argv[2] ?? "10");
if (!(minutes > 0)) {
  console.error("usage: npm run fuzz [-- MINUTES]");
  process.exit(2);
}
const folder = "build/test/fuzz";
const files = readdirSync(folder).filter((name) => name.endsWith(".test.js"));
const properties = files.reduce(
  (sum, name) =>
    sum + (readFileSync(`${folder}/${name}`, "utf8").match(/await holds\(/g) ?? []).length,
  0,
);
const seconds = Math.max(1, Math.floor((minutes * 60) / properties));
console.log(`${properties} properties in ${files.length} files, ${seconds} s each`);
const { status } = spawnSync(
  process.execPath,
  ["--test", "--test-concurrency=1", ...files.map((name) => `${folder}/${name}`)],
  {
    stdio: "inherit",
    env: { ...process.env, AGENT_JOBS_NIGHTLY: "true", AGENT_JOBS_FUZZ_SECONDS: String(seconds) },
  },
);
process.exit(status ?? 1);
