import assert from "node:assert/strict";
import { chmod, symlink } from "node:fs/promises";
import { devNull } from "node:os";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { findNpm, npmEnvironment } from "../../src/runtime/provide-runtime.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const script = join("node_modules", "npm", "bin", "npm-cli.js");

async function program(workspace: Workspace, name: string): Promise<string> {
  const path = await workspace.write(name, "#!/bin/sh\n");
  await chmod(path, 0o755);
  return path;
}

describe("choosing npm", () => {
  it("takes the one in PATH, else the one next to node", async (t) => {
    const workspace = await makeWorkspace(t);
    const at = (name: string): string => join(workspace.path, name);
    const node = at("node24/bin/node");
    const environment = { PATH: [at("a"), at("b")].join(delimiter) };
    assert.equal(findNpm(environment, node), undefined);
    const nextToNode = await workspace.write(join("node24/lib", script), "");
    assert.deepEqual(findNpm(environment, node), { command: node, args: [nextToNode] });
    await workspace.write("a/npm", "not executable");
    const command = await program(workspace, "b/npm");
    assert.deepEqual(findNpm(environment, node), { command, args: [] });
  });

  it("passes over the folders of a checkout, in PATH and next to a node", async (t) => {
    const workspace = await makeWorkspace(t);
    await program(workspace, "bin/npm");
    await workspace.write(join("bin", script), "");
    const GITHUB_WORKSPACE = workspace.path;
    const environment = { PATH: join(workspace.path, "bin"), GITHUB_WORKSPACE };
    const node = join(workspace.path, "bin/node");
    for (const system of ["linux", "win32"] as const)
      assert.equal(findNpm(environment, node, system), undefined, system);
  });

  it("starts npm with node on Windows, where npm is a batch file", async (t) => {
    const workspace = await makeWorkspace(t);
    const file = await workspace.write(join("tools", script), "");
    await program(workspace, "tools/npm");
    assert.deepEqual(findNpm({ PATH: join(workspace.path, "tools") }, "/node", "win32"), {
      command: "/node",
      args: [file],
    });
  });
});

describe("the environment of npm", () => {
  const node = "/node/bin/node";

  it("has its settings and proxies, and no input, runner token, cloud key or model key", () => {
    const given = npmEnvironment(
      {
        PATH: "/a",
        HOME: "/home",
        NPM_CONFIG_USERCONFIG: "/rc",
        npm_config_registry: "https://registry.example",
        NODE_AUTH_TOKEN: "for the registry",
        HTTPS_PROXY: "http://user:password@proxy.example",
        "INPUT_PROVIDER-API-KEY": "x",
        ACTIONS_RUNTIME_TOKEN: "x",
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "x",
        AGENT_JOBS_PROVIDER_API_KEY: "x",
        COPILOT_GITHUB_TOKEN: "x",
        GITHUB_TOKEN: "x",
        GH_TOKEN: "x",
        ANTHROPIC_API_KEY: "x",
        AWS_SECRET_ACCESS_KEY: "x",
        SOMETHING_ELSE: "x",
        GITHUB_ENV: "x",
        NODE_OPTIONS: "--require=x",
        LD_PRELOAD: "x",
        BASH_ENV: "x",
        GIT_EXEC_PATH: "x",
        NPM_CONFIG_NODE_OPTIONS: "--require=x",
        npm_config_script_shell: "x",
        UNSET: undefined,
      },
      node,
    );
    assert.deepEqual(given, {
      HOME: "/home",
      NPM_CONFIG_USERCONFIG: "/rc",
      npm_config_registry: "https://registry.example",
      NODE_AUTH_TOKEN: "for the registry",
      HTTPS_PROXY: "http://user:password@proxy.example",
      PATH: ["/a", "/node/bin"].join(delimiter),
    });
  });

  it("has what the user's .npmrc names, as long as it loads nothing", async (t) => {
    const workspace = await makeWorkspace(t, {
      ".npmrc": "//r.example/:_authToken=${COMPANY_TOKEN}\na=${NODE_OPTIONS}${PATH}${LD_PRELOAD}\n",
    });
    const environment = {
      HOME: workspace.path,
      PATH: ".:/a",
      COMPANY_TOKEN: "ours",
      OTHER_TOKEN: "x",
      NODE_OPTIONS: "x",
      LD_PRELOAD: "x",
    };
    assert.deepEqual(npmEnvironment(environment, node), {
      HOME: workspace.path,
      PATH: "/a:/node/bin",
      COMPANY_TOKEN: "ours",
    });
  });

  it("makes npm read no .npmrc of the workspace, whichever variable leads there", async (t) => {
    const workspace = await makeWorkspace(t, { ".npmrc": "x=${GITHUB_TOKEN}\n" });
    const outside = await makeWorkspace(t);
    await symlink(workspace.path, join(outside.path, "link"));
    const GITHUB_WORKSPACE = workspace.path;
    for (const place of [workspace.path, join(outside.path, "link")]) {
      for (const leading of [
        { HOME: place },
        { HOME: outside.path, NPM_CONFIG_USERCONFIG: join(place, ".npmrc") },
        { HOME: outside.path, npm_config_userconfig: join(place, "other") },
      ]) {
        const given = { GITHUB_WORKSPACE, GITHUB_TOKEN: "x", ...leading };
        const environment = npmEnvironment({ ...given, npm_config_globalconfig: place }, node);
        assert.equal(environment["NPM_CONFIG_USERCONFIG"], devNull);
        assert.deepEqual(
          Object.entries(environment).filter(
            ([name]) => !/^(HOME|PATH|NPM_CONFIG_U.*)$/.test(name),
          ),
          [],
        );
      }
    }
  });
});
