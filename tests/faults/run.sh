#!/bin/bash
# Fault sweeps of whole commands, see sweep.py: a call of the C library fails, and the command reports it in one line
# with exit status 2, or overcomes it. No command crashes or leaves partial output. FULL=1 tries each place. Starts on
# Android are swept by tests/contract_art/start/faults.c, system calls of Mach by tests/unit/mach/test_mach_faults.c.
#
#   B=DIR tests/faults/run.sh [CASE...]
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
export B
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! make -s B="$B" HASTE="$(cat "$B/haste" 2>/dev/null)" \
    "$B"/{strobe,strobe-lab,libstrobe-preload.so,libfaulty.so,spin} >/dev/null; then
    echo 'FAIL its programs do not build'
    echo '0 passed, 1 failed'
    exit 1
fi
exec python3 tests/faults/sweep.py "$B" $([[ -n ${FULL:-} ]] || echo --sample) "$@"
