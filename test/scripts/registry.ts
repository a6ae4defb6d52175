/** A small npm registry on loopback: real packages with their real hashes, made here. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { listen } from "../rig/listen.ts";
import { makeWorkspace } from "../rig/workspace.ts";

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

export interface Registry {
  readonly url: string;
  /** `name@version` → its SHA-512, as npm writes it. */
  readonly integrities: ReadonlyMap<string, string>;
}

export async function startRegistry(
  test: Pick<TestContext, "after">,
  packages: readonly Package[],
): Promise<Registry> {
  const { path } = await makeWorkspace(test);
  const tarballs = new Map<string, Buffer>();
  const integrities = new Map<string, string>();
  for (const [index, manifest] of packages.entries()) {
    const folder = join(path, `${index}`, "package");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    const file = join(path, `${index}.tgz`);
    await promisify(execFile)("tar", ["-czf", file, "-C", join(path, `${index}`), "package"]);
    const content = await readFile(file);
    tarballs.set(`/${index}.tgz`, content);
    const hash = createHash("sha512").update(content).digest("base64");
    integrities.set(`${manifest.name}@${manifest.version}`, `sha512-${hash}`);
  }
  const server = createServer((request, response) => {
    const wanted = decodeURIComponent(request.url ?? "");
    const tarball = tarballs.get(wanted);
    const versions = packages
      .map((manifest, index) => ({ manifest, index }))
      .filter(({ manifest }) => `/${manifest.name}` === wanted);
    if (tarball !== undefined) response.end(tarball);
    else if (versions.length === 0) response.writeHead(404).end("{}");
    else
      response.end(
        JSON.stringify({
          name: wanted.slice(1),
          "dist-tags": { latest: versions.at(-1)?.manifest.version },
          versions: Object.fromEntries(
            versions.map(({ manifest, index }) => {
              const integrity = integrities.get(`${manifest.name}@${manifest.version}`);
              const dist = { integrity, tarball: `${url}/${index}.tgz` };
              return [manifest.version, { ...manifest, dist }];
            }),
          ),
        }),
      );
  });
  const url = await listen(test, server);
  return { url, integrities };
}
