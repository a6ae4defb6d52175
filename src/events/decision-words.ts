/** Turns of phrase that the texts of decisions share. */
/** Empty if there is only one attempt. */
export function attemptOf({ attempt, attempts }: { attempt: number; attempts: number }): string {
  return attempts === 1 ? "" : `, attempt ${attempt} of ${attempts}`;
}

export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function times(count: number): string {
  return count === 1 ? "once" : `${count} times in a row`;
}
