import { createOutput } from "../app/output.ts";

/** Of this process. */
export const output = createOutput(process.stdout, process.stderr, process.env);
