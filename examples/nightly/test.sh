#!/usr/bin/env bash
# Tests this repository for nightly.yml: exits with 0 if all tests pass.
set -euo pipefail
npm test
