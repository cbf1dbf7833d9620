#!/bin/bash
# Repeatedly records programs that once hung under a tracer, several at a time, and counts recordings that do not end.
#
#   B=DIR tests/programs/hang.sh ROUNDS [--only NAME,...] [--jobs N]
#
# Makes ROUNDS recordings in total, in equal shares of the programs that have a `hang` line in tests/programs/table.
# Ends with `N passed, N failed, N skipped`, where each program counts once. The head of hang.py has the criteria.
cd "$(dirname "$0")/../.." || exit 2
exec /usr/bin/env python3 tests/programs/hang.py "$@"
