#!/usr/bin/env node
!function(e){var o=e.split("."),s=Number(o[0]);s<20||20===s&&Number(o[1])<19?(console.error("agent-jobs needs Node.js 20.19 or newer. This is Node.js "+e+": install a newer one from https://nodejs.org, or put it first in PATH."),process.exitCode=2):import("./main.js")}(process.versions.node);
