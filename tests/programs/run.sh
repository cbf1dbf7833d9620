#!/bin/bash
# Real programs, each recorded in several modes beside a bare run and beside perf.
#
#   B=DIR tests/programs/run.sh [--full] [--only NAME,...] [--mode MODE,...] [...]
#
# Prints a row for each program and mode, what went wrong under it, and `N passed, N failed, N skipped` at the end.
# FULL=1 is --full. The programs are in tests/programs/table; suite.py says what is judged and how.
cd "$(dirname "$0")/../.." || exit 2
[[ ${FULL:-} ]] && set -- --full "$@"
exec /usr/bin/env python3 tests/programs/suite.py "$@"
