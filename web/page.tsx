/** Starts the page: the portal of a server, or a report, as the boot data says. */
import { render } from "preact";
import { readBoot } from "./data/boot.ts";
import { PortalApp } from "./portal/portal-app.tsx";
import { ReportApp } from "./report/report-app.tsx";
import { applyTheme, storedTheme } from "./theme.ts";
import "./page.css";

applyTheme(storedTheme());
const boot = readBoot();
const place = document.getElementById("app");
if (place !== null)
  render(boot.kind === "portal" ? <PortalApp boot={boot} /> : <ReportApp boot={boot} />, place);
