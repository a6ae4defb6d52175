/**
 * Programs that a few tests need beyond Node and git. Where one is missing, its tests are skipped, and `npm test` ends
 * with a line for each reason. In CI none may be missing: there, the tests run and fail.
 */
import { findProgram } from "../../src/platform/search-path.ts";

/** For the option `skip` of a test. */
export function skipUnlessCi(reason: string): string | false {
  return process.env["CI"] === "true" ? false : reason;
}

/** Likewise, of a program that is installed with its package. */
function without(program: string): string | false {
  return (
    findProgram(program, process.env) === undefined &&
    skipUnlessCi(`${program} is not installed. Install it with \`sudo apt-get install ${program}\``)
  );
}

export const withoutPython: string | false = without("python3");
export const withoutRedis: string | false = without("redis-server");
export const withoutCurl: string | false = without("curl");
