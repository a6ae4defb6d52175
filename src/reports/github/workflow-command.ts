/** Annotations as commands of a workflow, escaped as the runner unescapes them. */
export function annotation(
  level: "error" | "warning",
  message: string,
  place: Readonly<Record<string, string | number | undefined>>,
): string {
  const properties = Object.entries(place)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${escapeProperty(String(value))}`],
    )
    .join(",");
  return `::${level} ${properties}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
