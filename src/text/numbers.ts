/** Counts, durations and costs as people read them. */

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

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `a, b and 3 more` */
export function firstOf(names: readonly string[], most: number): string {
  const left = names.length - most;
  return `${names.slice(0, most).join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}

/** `0.4 s`. */
export function secondsText(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** `mm:ss`, from an hour on `h:mm:ss`. */
export function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const rest = `${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`;
  return seconds < 3600 ? rest : `${Math.floor(seconds / 3600)}:${rest}`;
}

/** `0.4 s`, from a minute on like `clockText`. */
export function tookText(milliseconds: number): string {
  return milliseconds < 59_950 ? secondsText(Math.max(0, milliseconds)) : clockText(milliseconds);
}

/** `0.4 s`, `31 s`, `3 min 12 s`, `1 h 02 min`; not to be broken over two lines. */
export function durationText(milliseconds: number): string {
  const whole = Math.round(Math.max(0, milliseconds) / 1000);
  const minutes = Math.floor(whole / 60);
  const text =
    milliseconds < 9950
      ? secondsText(Math.max(0, milliseconds))
      : whole < 60
        ? `${whole} s`
        : minutes < 60
          ? `${minutes} min ${twoDigits(whole % 60)} s`
          : `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
  return unbroken(text);
}

export function unbroken(text: string): string {
  return text.replaceAll(" ", "\u00A0");
}

/** GitHub bills a Copilot AI credit with 0.01 USD (docs.github.com, "GitHub Copilot billing", since 2026-06-01). */
export const CREDITS_PER_USD = 100;

/** `12.4 credits (0.12 USD)` */
export function costText(credits: number): string {
  const shown = amount(credits);
  return `${shown} ${shown === "1" ? "credit" : "credits"} (${amount(credits / CREDITS_PER_USD, 2)} USD)`;
}

/** The cost of a usage, and the models whose calls could not be counted; empty if there is neither. */
export function costWords(
  { cost, unpriced }: { readonly cost: number; readonly unpriced: readonly string[] },
  shown: (modelId: string) => string = (modelId) => modelId,
): readonly string[] {
  return [
    ...(cost > 0 ? [costText(cost)] : []),
    ...(unpriced.length > 0 ? [`no price for ${unpriced.map(shown).join(", ")}`] : []),
  ];
}

/** `1.25 USD in, 0.13 cached, 10 out` */
export function priceText({
  input,
  cached,
  output,
}: {
  input: number;
  cached?: number;
  output: number;
}) {
  const parts = [
    `${amount(input)} USD in`,
    ...(cached === undefined ? [] : [`${amount(cached)} cached`]),
  ];
  return [...parts, `${amount(output)} out`].join(", ");
}

/** `1,012.5`, `0.12`, `0.0043` */
function amount(value: number, digits = 0): string {
  if (value > 0 && value < 0.0001) return "under 0.0001";
  const rounded = value < 0.1 ? Number(value.toPrecision(2)) : Math.round(value * 100) / 100;
  // The first call of `toLocaleString` would take 9 ms.
  const [whole = "", fraction = ""] = String(Number(rounded.toFixed(4))).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === "" ? grouped : `${grouped}.${fraction.padEnd(digits, "0")}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** `2026-11-29T05:05:00Z`. */
export function utcText(at: number): string {
  return new Date(Math.min(at, 8.64e15)).toISOString().replace(/\.\d+Z$/, "Z");
}
