/** The name under which the main step leaves the run's mark (`RUN_MARK`) to the post step. */
export const MARK_STATE = "run";

export function isMark(value: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
