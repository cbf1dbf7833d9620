#!/bin/bash
# Records programs that have hung under a tracer over and over, several at a time, and counts those that do not end.
#
#   B=DIR tests/programs/hang.sh ROUNDS [--only NAME,...] [--jobs N]
#
# ROUNDS recordings are made in all, in equal shares of the programs that have a `hang` line in tests/programs/table.
# Ends with `N passed, N failed, N skipped`, counted by program; hang.py says what is judged.
cd "$(dirname "$0")/../.." || exit 2
exec /usr/bin/env python3 tests/programs/hang.py "$@"
