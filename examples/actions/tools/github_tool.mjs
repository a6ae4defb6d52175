// A stand-in for the API of GitHub: pull requests are files in github/.
import { readFileSync } from "node:fs";
import { json } from "node:stream/consumers";

const { operation, pr_number: number } = await json(process.stdin);
if (operation !== "get_pr_details") throw new Error(`There is no operation ${operation}.`);
console.log(readFileSync(`github/pull-${number}.json`, "utf8"));
