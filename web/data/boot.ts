/** What the HTML says about the use of this page. Made by src/reports/html. */
import type { PortalBoot, ReportBoot } from "../../src/reports/html/boot.ts";

export type { PortalBoot, ReportBoot };

export type Boot = PortalBoot | ReportBoot;

/** Its text is made together with this script, so its shape isn't checked. */
export function readBoot(): Boot {
  const boot: Boot = JSON.parse(document.getElementById("boot")?.textContent ?? "");
  return boot;
}
