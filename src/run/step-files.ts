import type { Environment } from "../platform/environment.ts";

/** The files through which a step of GitHub Actions speaks to the runner and to later steps. */
export const stepFileNames = [
  "GITHUB_OUTPUT",
  "GITHUB_ENV",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
] as const;

/** The paths of those that are set. File tools of agents can't write to them. */
export function stepFiles(environment: Environment): readonly string[] {
  return stepFileNames.flatMap((name) => {
    const path = environment[name] ?? "";
    return path === "" ? [] : [path];
  });
}
