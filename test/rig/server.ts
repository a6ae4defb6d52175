/**
 * A real `agent-jobs serve` in a process of its own, and an outside client that knows only its documents: plain
 * `fetch`, nothing from `src`. A file of tests shares one server; what it needs is written to a folder of its own.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordOf, type Answer } from "./answer.ts";
import { startCli, type CliChild } from "./cli.ts";
import { eventsOf, type ServerEvent } from "./answer.ts";

export interface ServerSetup {
  /** Written to a file and installed. */
  readonly entry: Answer;
  /** The rules of the rehearsal that plays the model: each is optional and for any number of sessions. */
  readonly sessions?: readonly Answer[];
  /** The address of a model server, instead of a rehearsal. */
  readonly provider?: string;
  /** Further files, in the folder of the server. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** How long any request may take. */
  readonly patienceMs?: number;
}

/** Starts a server on a free port, and installs the entry. */
export async function startServer(setup: ServerSetup): Promise<AgentServer> {
  const { entry, sessions = [], env = {}, patienceMs = 60_000 } = setup;
  const folder = await realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-server-")));
  const write = async (name: string, content: string): Promise<string> => {
    const file = join(folder, name);
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, content);
    return file;
  };
  await mkdir(join(folder, "work"), { recursive: true });
  const file = await write("entries/entry.json", JSON.stringify(entry));
  for (const [name, content] of Object.entries(setup.files ?? {})) await write(name, content);
  const rules = sessions.map((rule) => ({ optional: true, repeat: "any", ...rule }));
  const script = JSON.stringify({ entry: "entries/entry.json", sessions: rules });
  const rehearsal = await write("server.rehearsal.json", script);
  const { provider } = setup;
  const model =
    provider === undefined ? `--rehearse=${rehearsal}` : `--provider-base-url=${provider}`;
  const args = ["serve", "--port=0", "--test", `--entries-dir=${join(folder, "entries")}`, model];
  const server = await AgentServer.start(args, { folder, env, patienceMs });
  assert.deepEqual(await server.post("copilot/test/installJobsEntry", file), { result: "OK" });
  return server;
}

interface AgentServerOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly patienceMs: number;
}

export class AgentServer {
  /** Everything that it needs; sessions work in `work`. */
  readonly folder: string;
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  readonly child: CliChild;
  readonly #patienceMs: number;
  readonly #stopped: AbortController = new AbortController();

  private constructor(url: string, child: CliChild, options: AgentServerOptions) {
    this.folder = options.folder;
    this.url = url;
    this.child = child;
    this.#patienceMs = options.patienceMs;
  }

  static async start(args: readonly string[], options: AgentServerOptions): Promise<AgentServer> {
    const { folder: cwd, env } = options;
    const child = startCli(args, { cwd, env });
    await child.printed("/\n");
    const url = /https?:\/\/[^\s/]+:\d+/.exec(child.output.stdout)?.[0];
    if (url === undefined) assert.fail(`no URL: ${child.output.stdout}`);
    return new AgentServer(url, child, options);
  }

  get workingDirectory(): string {
    return join(this.folder, "work");
  }

  /** Any request, with the whole response. */
  request(route: string, init: RequestInit = {}): Promise<Response> {
    const signals = [this.#stopped.signal, AbortSignal.timeout(this.#patienceMs)];
    if (init.signal) signals.push(init.signal);
    return fetch(`${this.url}/api/${route}`, { ...init, signal: AbortSignal.any(signals) });
  }

  async get(route: string): Promise<Answer> {
    return jsonOf(await this.request(route));
  }

  async post(route: string, body = ""): Promise<Answer> {
    return jsonOf(await this.request(route, { method: "POST", body }));
  }

  /** Takes what a feed has to give until it is closed, and returns it without the `…Closed` at its end. */
  async drain(feed: string): Promise<Answer[]> {
    const taken: Answer[] = [];
    for (;;) {
      const answer = await this.get(`${feed}/live`);
      if (answer["error"] === "HttpRequestTimeout") continue;
      if (answer["error"] === undefined) {
        taken.push(answer);
        continue;
      }
      assert.match(JSON.stringify(answer), /^\{"error":"(Session|Task|Jobs)Closed"\}$/);
      return taken;
    }
  }

  /** Takes responses until one of them is `last`. */
  async takeUntil(feed: string, last: (answer: Answer) => boolean): Promise<Answer[]> {
    const taken: Answer[] = [];
    for (;;) {
      const answer = await this.get(`${feed}/live`);
      if (answer["error"] === "HttpRequestTimeout") continue;
      assert.equal(answer["error"], undefined, `${feed}: ${JSON.stringify([...taken, answer])}`);
      taken.push(answer);
      if (last(answer)) return taken;
    }
  }

  /** The server-sent events of a feed, up to the end of the stream. */
  async *events(
    route: string,
    options: { readonly lastEventId?: string; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<ServerEvent, void, void> {
    const { lastEventId, signal } = options;
    const headers = {
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    };
    const response = await this.request(route, { headers, ...(signal ? { signal } : {}) });
    if (response.status === 204) return;
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream\b/);
    if (response.body !== null) yield* eventsOf(response.body);
  }

  async startSession(model = "gpt-5-mini"): Promise<string> {
    const answer = await this.post(`copilot/session/start/${model}`, this.workingDirectory);
    return idIn(answer, "sessionId");
  }

  async startJob(name: string, userInput?: string): Promise<string> {
    const input = userInput === undefined ? "" : `\n${userInput}`;
    const route = `copilot/job/start/${encodeURIComponent(name)}`;
    return idIn(await this.post(route, `${this.workingDirectory}${input}`), "jobId");
  }

  /** Stops a session, a task or a job, which runs. */
  async close(feed: string): Promise<void> {
    assert.deepEqual(await this.post(`${feed}/stop`), { result: "Closed" });
  }

  /** Follows a job and all its tasks to their ends. */
  async follow(jobId: string): Promise<Followed> {
    const tasks = new Map<string, Promise<Answer[]>>();
    const job: Answer[] = [];
    const onAnswer = (answer: Answer): void => {
      job.push(answer);
      if (answer["callback"] !== "workStarted") return;
      const taskId = String(answer["taskId"]);
      assert.ok(!tasks.has(taskId), `${taskId} is the id of two works`);
      tasks.set(taskId, this.drain(`copilot/task/${taskId}`));
    };
    for (;;) {
      const answer = await this.get(`copilot/job/${jobId}/live`);
      if (answer["error"] === "JobsClosed") break;
      if (answer["error"] === "HttpRequestTimeout") continue;
      assert.equal(answer["error"], undefined);
      onAnswer(answer);
    }
    const drained = [...tasks].map(async ([id, feed]) => [id, await feed] as const);
    return { job, tasks: new Map(await Promise.all(drained)) };
  }

  async runJob(name: string, userInput?: string): Promise<Followed> {
    return this.follow(await this.startJob(name, userInput));
  }

  /** Asks it to stop, and waits until it has exited. */
  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    try {
      assert.deepEqual(await this.post("stop"), {});
      const { code, stderr } = await this.child.ended;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    } finally {
      await this.dispose();
    }
  }

  /** Ends it, if it still runs, and removes its folder. */
  async dispose(): Promise<void> {
    this.#stopped.abort();
    this.child.kill();
    await this.child.exited;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export interface Followed {
  readonly job: readonly Answer[];
  /** By their live ids, in the order of their starts. */
  readonly tasks: ReadonlyMap<string, readonly Answer[]>;
}

async function jsonOf(response: Response): Promise<Answer> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  return recordOf(text);
}

/** The only field of an answer, an id. */
function idIn(answer: Answer, field: string): string {
  const id = answer[field];
  assert.deepEqual(Object.keys(answer), [field], JSON.stringify(answer));
  if (typeof id !== "string" || id === "") assert.fail(`no id: ${JSON.stringify(answer)}`);
  return id;
}
