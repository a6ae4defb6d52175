/** The head of a diff as the runtime writes it. */
export function diffOf(from: string, to = from): string {
  const left = from === "/dev/null" ? to : from;
  return `\ndiff --git a${left} b${to}\nindex 0000000..0000000 100644\n--- a${from}\n+++ b${to}\n@@ -1 +1 @@\n`;
}
