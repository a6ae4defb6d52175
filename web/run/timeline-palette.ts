/** The colors of the timeline: those of the page. */

export interface Palette {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly sunken: string;
  readonly hover: string;
  readonly accent: string;
  readonly ok: string;
  readonly okSoft: string;
  readonly fail: string;
  readonly failSoft: string;
  readonly warn: string;
  readonly run: string;
  readonly runSoft: string;
  readonly skip: string;
  readonly skipSoft: string;
  readonly font: string;
}

/** The colors of the page, as the canvas needs them: `light-dark()` is resolved by an element. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  // Read at once, a color that changes slowly would still be the one before.
  probe.style.transition = "none";
  element.append(probe);
  const color = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    text: color("--text"),
    muted: color("--muted"),
    line: color("--line"),
    surface: color("--surface"),
    sunken: color("--sunken"),
    hover: color("--hover"),
    accent: color("--accent"),
    ok: color("--ok"),
    okSoft: color("--ok-soft"),
    fail: color("--fail"),
    failSoft: color("--fail-soft"),
    warn: color("--warn"),
    run: color("--run"),
    runSoft: color("--run-soft"),
    skip: color("--skip"),
    skipSoft: color("--skip-soft"),
    font: getComputedStyle(probe).fontFamily,
  };
  probe.remove();
  return palette;
}
