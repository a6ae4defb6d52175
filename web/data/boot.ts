/** What the HTML says about the use of this page. Made by src/report. */
import type { ReportBoot } from "../../src/report/boot.ts";

export type { ReportBoot };

export type Boot = PortalBoot | ReportBoot;

export interface PortalBoot {
  readonly kind: "portal";
  readonly version: string;
}

/** Its text is made together with this script, so its shape isn't checked. */
export function readBoot(): Boot {
  const boot: Boot = JSON.parse(document.getElementById("boot")?.textContent ?? "");
  return boot;
}
