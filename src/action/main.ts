/** What `action.yml` names as `main`: the runner's environment in, exit code out. */
import { runAction } from "./action.ts";
import { readEnvironment } from "./inputs.ts";
import { runnerCore } from "./runner-core.ts";

process.exitCode = (await runAction(readEnvironment(), runnerCore)) === "failed" ? 1 : 0;
// Nothing of ours holds the process open any more; what a dependency may still hold does not either.
setTimeout(() => process.exit(), 1_000).unref();
