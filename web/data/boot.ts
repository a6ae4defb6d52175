/** What the HTML says about the use of this page. Made by src/report. */

export type Boot = PortalBoot | ReportBoot;

export interface PortalBoot {
  readonly kind: "portal";
  readonly version: string;
}

export interface ReportBoot {
  readonly kind: "report";
  readonly version: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly journals: readonly { readonly name: string; readonly problems: readonly unknown[] }[];
}

/** Its text is made together with this script, so its shape isn't checked. */
export function readBoot(): Boot {
  const boot: Boot = JSON.parse(document.getElementById("boot")?.textContent ?? "");
  return boot;
}
