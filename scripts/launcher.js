// Any Node reads this file, in the JavaScript of 2015, and it says which Node is needed: an old one can't parse the rest of
// the command line, and would print a syntax error.
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
    void import("./main.js");
  }
})(process.versions.node);
