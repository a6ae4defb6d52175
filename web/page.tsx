/** Starts the page: the portal of a server, or a report, as the boot data says. */
import { render } from "preact";
import type { PortalBoot, ReportBoot } from "../src/reports/html/boot.ts";
import { PortalApp } from "./portal/portal-app.tsx";
import { ReportApp } from "./report/report-app.tsx";
import { applyTheme, storedTheme } from "./frame.tsx";
import "./page.css";

applyTheme(storedTheme());
/** Its text is made together with this script, so its shape is not checked. */
const boot: PortalBoot | ReportBoot = JSON.parse(
  document.getElementById("boot")?.textContent ?? "",
);
const place = document.getElementById("app");
if (place !== null)
  render(boot.kind === "portal" ? <PortalApp boot={boot} /> : <ReportApp boot={boot} />, place);
