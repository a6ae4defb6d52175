/** `950`, `12.3k`, `4.5M`. */
export function countText(count: number): string {
  if (count < 1000) return String(Math.round(count));
  for (const [size, unit] of [
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
  ] as const) {
    const scaled = count / size;
    if (scaled < 999.5) return `${scaled.toFixed(scaled < 99.95 ? 1 : 0)}${unit}`;
  }
  return count.toExponential(1);
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `0.4 s`, `31 s`, `3 min 12 s`, `1 h 02 min`; not to be broken over two lines. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const two = (value: number): string => String(value).padStart(2, "0");
  const text =
    seconds < 9.95
      ? `${seconds.toFixed(1)} s`
      : whole < 60
        ? `${whole} s`
        : minutes < 60
          ? `${minutes} min ${two(whole % 60)} s`
          : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return unbroken(text);
}

export function unbroken(text: string): string {
  return text.replaceAll(" ", "\u00A0");
}

export function costText(cost: number): string {
  const rounded = Math.round(cost * 100) / 100;
  return `${rounded} premium request${rounded === 1 ? "" : "s"}`;
}
