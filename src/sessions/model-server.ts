import { urlOf } from "../text/guards.ts";
import { BlockList, isIP } from "node:net";
import type { Environment } from "../platform/environment.ts";

/**
 * Where the models are, and where a session gets the access to them. An enterprise with data residency has its own
 * addresses. The runtime is not given its other variables for it, `COPILOT_GH_HOST` and `COPILOT_API_URL`.
 */
export function copilotService(environment: Environment): readonly string[] {
  const host = (variable(environment, "GH_HOST") ?? "")
    .replace(/^https?:\/\//i, "")
    .replace(/\/.*$/s, "")
    .toLowerCase();
  return /^[a-z0-9-]+\.ghe\.com$/.test(host)
    ? [`https://copilot-api.${host}`, `https://api.${host}`]
    : ["https://api.githubcopilot.com", "https://api.github.com"];
}

export function proxyFor(address: string, environment: Environment): string | undefined {
  const url = urlOf(address);
  if (url === undefined) return undefined;
  const ofScheme = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = variable(environment, ofScheme) ?? variable(environment, "ALL_PROXY");
  return isExcluded(url, variable(environment, "NO_PROXY") ?? "") ? undefined : proxy;
}

/** `*`, a domain (with its subdomains), an address, or a range of addresses; each may have a port. */
function isExcluded(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((item) => item !== "")
    .some((item) => {
      if (item === "*") return true;
      const [, name = item, ofPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(item) ?? [];
      if (ofPort !== undefined && ofPort !== port) return false;
      const bare = name.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0) return isInRange(host, bare);
      const domain = bare.replace(/^\*?\.+/, "");
      return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
    });
}

function isInRange(host: string, range: string): boolean {
  const [address = "", bits] = range.split("/");
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const prefix = bits === undefined ? (family === 4 ? 32 : 128) : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, prefix, type);
  return list.check(host, type);
}

/** Programs read either case; the lower one first. */
function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name.toLowerCase()] ?? environment[name];
  return value === "" ? undefined : value;
}
