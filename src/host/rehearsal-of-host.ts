/** Each run, and each session of no run, starts the script anew. A borrowed session gets that of the run. */
import type { Clock } from "../platform/clock.ts";
import type { SessionRole } from "../events/decision.ts";
import type { Reporter } from "../events/sink.ts";
import { ScriptedModel } from "../rehearsal/player/scripted-model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { ModelRequest, ModelTransport } from "../sessions/request-handler.ts";
import type { ModelAccess } from "../run/options-provider.ts";
import { workFolder, type WorkFolder } from "../run/working-copy.ts";

export interface HostRehearsalOptions {
  readonly script: Script;
  /** Work in the folder itself. Default: in the workspace of the script, or where tools may change it, in a copy. */
  readonly inPlace: boolean;
  readonly environment: ModelAccess["environment"];
  readonly clock: Clock;
}

export interface Play {
  readonly join: (sessionId: string) => void;
  /** Must get the events of the run: it plays in the sessions that it starts. */
  readonly reporter: Reporter;
  readonly end: () => void;
}

export class HostRehearsal implements ModelTransport {
  readonly scripted = true;
  readonly #options: HostRehearsalOptions;
  /** By session. The last one answers. */
  readonly #models = new Map<string, ModelTransport[]>();

  constructor(options: HostRehearsalOptions) {
    this.#options = options;
  }

  async send(request: ModelRequest): Promise<Response> {
    const model = this.#models.get(request.sessionId)?.at(-1);
    if (model === undefined) throw new Error("No script plays in this session.");
    return model.send(request);
  }

  /** Where to work. `changes`: tools may change the folder. Throws a `UsageError` if it can't be made. */
  folder(folder: string, changes: boolean): Promise<WorkFolder> {
    const { script, inPlace, environment } = this.#options;
    return workFolder(script, folder, {
      environment,
      inPlace: "--in-place (inPlace)",
      makes: !inPlace,
      copies: !inPlace && changes,
    });
  }

  run(workingDirectory: string, changeDiff?: string): Play {
    const { script, clock } = this.#options;
    return this.#play(new ScriptedModel(script, { clock, workingDirectory, changeDiff }));
  }

  session(workingDirectory: string): Play {
    return this.#play(this.#shared(workingDirectory, () => undefined));
  }

  borrowed(workingDirectory: string, sessionId: string): Play {
    let label: ModelRequest["label"];
    const model = this.#shared(workingDirectory, () => label);
    const play = this.#play(model);
    play.join(sessionId);
    return {
      ...play,
      reporter: {
        report: (event, view) => {
          play.reporter.report(event, view);
          if (event.type !== "turn.started") return;
          const { work, modelId, retry, attempt, purpose } = event;
          const role: SessionRole = purpose === "prompt" ? "task" : "driving";
          label = { ...work, role, modelId, retry, attempt };
        },
      },
    };
  }

  #shared(workingDirectory: string, label: () => ModelRequest["label"]): ScriptedModel {
    const { script, clock } = this.#options;
    return new ScriptedModel(script, { clock, workingDirectory, shared: { label } });
  }

  #play(model: ScriptedModel): Play {
    const sessions = new Set<string>();
    const leave = (sessionId: string): void => {
      if (!sessions.delete(sessionId)) return;
      const others = (this.#models.get(sessionId) ?? []).filter((one) => one !== model);
      if (others.length > 0) this.#models.set(sessionId, others);
      else this.#models.delete(sessionId);
    };
    const join = (sessionId: string): void => {
      if (sessions.has(sessionId)) return;
      sessions.add(sessionId);
      this.#models.set(sessionId, [...(this.#models.get(sessionId) ?? []), model]);
    };
    return {
      join,
      reporter: {
        report: (event) => {
          model.observe(event);
          if (event.type === "session.started") join(event.sessionId);
          if (event.type === "session.ended") leave(event.sessionId);
        },
      },
      end: () => {
        for (const sessionId of sessions) leave(sessionId);
      },
    };
  }
}
