// Deploys a service: copies the modules of app/ to a folder of the target, one after the other.
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

const { target, service } = await json(process.stdin);
const folder = join("out", target, service);
mkdirSync(folder, { recursive: true });
const files = readdirSync("app").filter((file) => !file.endsWith(".test.mjs"));
for (const [index, file] of files.entries()) {
  copyFileSync(join("app", file), join(folder, file));
  const percent = Math.round((100 * (index + 1)) / files.length);
  // Progress with a percentage: the bar that the model has asked for shows it.
  console.error(JSON.stringify({ percent, message: `Copied ${file}` }));
  await setTimeout(50);
}
console.log(JSON.stringify({ service, target, files: files.length }));
