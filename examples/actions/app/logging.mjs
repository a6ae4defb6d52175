// Messages with a level, to a file or to the console.
import { appendFileSync } from "node:fs";

const levels = ["debug", "info", "error"];

// The settings of a logger. The environment is a parameter, so that tests need no process of their own.
export function settingsOf(environment) {
  const { LOG_FILE: file, LOG_LEVEL: level = "info" } = environment;
  if (!levels.includes(level)) throw new Error(`LOG_LEVEL is none of ${levels.join(", ")}.`);
  return { file, level };
}

// Writes to the file of its settings, else to the console.
export function createLogger(settings, now = () => new Date().toISOString()) {
  const lowest = levels.indexOf(settings.level);
  const write = (level, message) => {
    if (levels.indexOf(level) < lowest) return;
    const line = `${now()} ${level} ${message}`;
    if (settings.file === undefined) console.log(line);
    else appendFileSync(settings.file, `${line}\n`);
  };
  return {
    debug: (message) => write("debug", message),
    info: (message) => write("info", message),
    error: (message) => write("error", message),
  };
}
