/**
 * The mark that the runtime and all it starts carry in their environment, so that the post step finds what
 * a killed main step left, and nothing else.
 */
export { RUN_MARK as MARK_NAME } from "../platform/run-folder.ts";
export const MARK_STATE = "run";

export function isMark(value: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
