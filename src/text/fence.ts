export function fenced(text: string, info = ""): string {
  const fence = fenceOf(text);
  return `${fence}${info}\n${text}\n${fence}`;
}

/** At least `least` backticks, and more than there are in a row in the text. */
export function fenceOf(text: string, least = 3): string {
  let longest = least - 1;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return "`".repeat(longest + 1);
}
