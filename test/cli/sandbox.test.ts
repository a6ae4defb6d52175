/** What programs that are no agent's commands reach in a sandbox: tools, MCP servers, EXECUTE. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCli } from "../rig/cli.ts";
import { commandLine } from "../rig/dist.ts";
import { makeCanaries } from "../rig/canaries.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { noTerminal, startOnTerminal } from "../rig/terminal.ts";
import { makeWorkspace } from "../rig/workspace.ts";

/** A job of the task `a` and of the workflow `f.wf.md`. */
const taskAndWorkflow = `tasks: { a: { prompt: go, model: { category: driving } } }
jobs: { j: { work: { kind: Seq, works: [{ kind: Ref, taskId: a }, { kind: Flow, file: f.wf.md }] } } }
`;

/** A rehearsal of it up to its first tool calls. */
const callsTools = `entry: e.yml
sessions:
  - task: a
    turns:
      - replies:
          - tools:
`;

function workflow(script: string): string {
  return `# Workflow\n\n\`\`\`mermaid\nflowchart TD\nSTART --> EXECUTE_A[${script}] --> SUCCESS\n\`\`\`\n`;
}

test(
  "tools, modules, servers and EXECUTE are confined as the task that uses them",
  { skip: withoutSandbox },
  async (t) => {
    const canaries = await makeCanaries(t);
    const { outside, pid, port, secrets, workspace } = canaries;
    const probe = `cat ${secrets.join(" ")}; cat /proc/*/environ | strings | grep HIDDEN
touch pwned ${outside}/pwned; echo x > /proc/sys/kernel/core_pattern; umount private; cat private/key.txt
touch "$(dirname "$(readlink /proc/$$/fd/1)")/pwned" && echo "a pipe can be replaced"
curl -sm 2 http://127.0.0.1:${port}/; kill -9 ${pid} ${process.pid}; git status
echo made > out/$1; echo end of $1`;
    const run = `import { execFileSync } from "node:child_process";
export default () => execFileSync("sh", ["probe.sh", "module"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });`;
    const server = `import { execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
const said = execFileSync("sh", ["probe.sh", "server"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const result = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools: [{ name: "say", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: said }] },
  }[method];
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) }));
});`;
    const files = {
      "probe.sh": probe,
      "run.mjs": run,
      "server.mjs": server,
      "f.wf.md": workflow("sh probe.sh execute"),
      "e.yml": `models: { driving: m }
permissions: { shell: ["sh probe.sh *"], tools: ["*"], read: ["!private/**"], write: ["out/**"], sandbox: required }
mcpServers: { s: { command: node, args: [server.mjs] } }
tools:
  command: { description: d, parameters: { type: object }, command: [sh, probe.sh, command] }
  module: { description: d, parameters: { type: object }, module: run.mjs }
${taskAndWorkflow}`,
      "r.yml": `${callsTools}              - { name: command, arguments: {} }
              - { name: module, arguments: {} }
              - { name: s/say, arguments: {} }
          - toolResults: { contains: [end of command, end of module, end of server] }
            text: Done.
`,
    };
    const cwd = workspace.path;
    for (const [name, text] of Object.entries(files)) await workspace.write(name, text);
    canaries.harm("");
    const { code, stdout, stderr } = await runCli(
      ["run", "e.yml", "--rehearse", "r.yml", "--in-place", "--verbose"],
      { cwd, env: { HIDDEN: "hidden-value" } },
    );
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(canaries.harm(stdout + stderr), []);
    assert.doesNotMatch(stdout + stderr, /hidden-value|a pipe can be replaced/);
    for (const name of ["command", "module", "server", "execute"])
      assert.equal(existsSync(join(cwd, "out", name)), true, name);
  },
);

test(
  "a working directory may be a symbolic link, for sessions, tools, servers and EXECUTE",
  { skip: withoutSandbox },
  async (t) => {
    const workspace = await makeWorkspace(t, {
      "real/say.sh": "pwd -P > out/$1",
      "real/server.sh": `sh say.sh server; while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *) r='{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}' ;;
  esac
  [ -z "$id" ] || echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":$r}"
done`,
      "f.wf.md": workflow("sh say.sh execute"),
      "e.yml": `models: { driving: m }
permissions: { shell: true, tools: ["*"], write: ["out/**"], sandbox: required }
mcpServers: { s: { command: sh, args: [server.sh] } }
tools: { command: { description: d, parameters: { type: object }, command: [sh, say.sh, tool] } }
${taskAndWorkflow}`,
      "r.yml": `${callsTools}              - { name: bash, arguments: { command: sh say.sh session, description: d } }
              - { name: command, arguments: {} }
          - text: Done.
`,
    });
    const real = join(workspace.path, "real");
    const link = join(workspace.path, "link");
    await mkdir(join(real, "out"));
    await symlink(real, link);
    const { code, stdout, stderr } = await runCli(
      ["run", "e.yml", "--rehearse", "r.yml", "--in-place", "--working-directory", link],
      { cwd: workspace.path, env: { PWD: link } },
    );
    assert.equal(code, 0, stdout + stderr);
    for (const name of ["session", "tool", "server", "execute"])
      assert.equal(await readFile(join(real, "out", name), "utf8"), `${real}\n`, name);
  },
);

test(
  "no command of an agent can type into the terminal of the run",
  { skip: withoutSandbox || noTerminal || false },
  async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.yml": `models: { driving: m }
permissions: { shell: true, write: ["out/**"], sandbox: required }
tasks: { a: { prompt: go, model: { category: driving } } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`,
      "r.yml": `${callsTools}              - { name: bash, arguments: { command: "(: <> /dev/tty) && touch out/typed; touch out/ran", description: d } }
          - text: Done.
`,
    });
    const args = ["run", "e.yml", "--rehearse", "r.yml", "--in-place"];
    const { code, stdout } = await startOnTerminal(commandLine, args, { cwd }).ended;
    assert.equal(code, 0, stdout);
    assert.deepEqual(await readdir(join(cwd, "out")), ["ran"]);
  },
);
