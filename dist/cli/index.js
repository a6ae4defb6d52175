#!/usr/bin/env node
// Any Node reads this file, in the JavaScript of 2015. It says which Node is needed, where an old one would print a
// syntax error, and what to do if too few files may be open.
(function (version) {
  var parts = version.split(".");
  var major = Number(parts[0]);
  if (major < 20 || (major === 20 && Number(parts[1]) < 19)) {
    console.error(
      "agent-jobs needs Node.js 20.19 or newer. This is Node.js " +
        version +
        ": install a newer one from https://nodejs.org, or put it first in PATH.",
    );
    process.exitCode = 2;
  } else {
    import("./main.js").catch(function (error) {
      if (error.code !== "EMFILE" && error.code !== "ENFILE") throw error;
      console.error(
        "agent-jobs can't load its own files: " +
          error.message +
          ". Raise the limit of open files, for example with: ulimit -n 4096",
      );
      process.exitCode = 1;
    });
  }
})(process.versions.node);
