#!/usr/bin/env bash
# Tests this repository for the jobs in this folder: exits with 0 if all tests pass.
set -euo pipefail
npm test
