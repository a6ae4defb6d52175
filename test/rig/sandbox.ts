/** Whether this machine can run tests of the sandbox. In CI it must: there, none of them is skipped. */
import { sandboxSupport } from "../../src/platform/sandbox.ts";

const support = await sandboxSupport(process.env);

/** For the option `skip` of a test. */
export const withoutSandbox: string | false =
  support.kind === "bubblewrap" || process.env["CI"] === "true"
    ? false
    : `this machine has no sandbox: ${support.reason}`;
