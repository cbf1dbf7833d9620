#!/bin/bash
# Records real programs, each in several modes, and compares them with a bare run and with perf.
#
#   B=DIR tests/programs/run.sh [--full] [--only NAME,...] [--mode MODE,...] [...]
#
# Prints a row for each program and mode with its failures below it, and `N passed, N failed, N skipped` at the end.
# FULL=1 means --full. tests/programs/table lists the programs; the head of suite.py lists the checks.
cd "$(dirname "$0")/../.." || exit 2
[[ ${FULL:-} ]] && set -- --full "$@"
exec /usr/bin/env python3 tests/programs/suite.py "$@"
