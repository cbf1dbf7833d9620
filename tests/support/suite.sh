# What the suites (tests/*/run.sh) share. A suite sources this file from the root of the tree:
#
#   cd "$(dirname "$0")/../.." || exit 2
#   . tests/support/suite.sh
#   ...
#   end_suite
#
# It sets B to the build's directory (an absolute path) and `work` to a temporary directory that is removed at the end.
# It counts checks in passed, failed and skipped.
B=$(realpath "${B:-build}") || exit 2
export B
. tests/support/files.sh
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

pass() {
    ((++passed))
}

# fail TEXT...: counts and prints a failed check.
fail() {
    ((++failed))
    printf 'FAIL %s\n' "$*"
}

# skip NAME WHY: counts and prints a check that this machine cannot run. tests/skips lists the allowed ones.
skip() {
    ((++skipped))
    printf 'SKIP %s: %s\n' "$1" "$2"
}

# check NAME COMMAND...: passes when the command succeeds. Prints the command's output when it fails.
check() {
    local name=$1
    shift
    if "$@" >"$work/check.out" 2>&1; then
        pass
    else
        fail "$name: $(head -n 3 "$work/check.out" | tr '\n' ' ')"
    fi
}

# in_bounds NAME LOW HIGH: the score NAME in $work/score.json is within the bounds.
in_bounds() {
    python3 - "$work/score.json" "$@" <<'PYTHON'
import json, sys
value = json.load(open(sys.argv[1]))[sys.argv[2]]
low, high = map(float, sys.argv[3:])
print(f"{value}, expected {low} .. {high}")
sys.exit(not low <= value <= high)
PYTHON
}

# refused STATUS TEXT COMMAND...: the command exits with STATUS and prints one line, which contains TEXT.
refused() {
    local status=$1 text=$2 said
    shift 2
    "$@" >"$work/refused.out" 2>"$work/refused.err"
    [[ $? == "$status" ]] && read_file said "$work/refused.err"
    [[ ${said-} == *"$text"*$'\n' && -z ${said#*$'\n'} ]] && return
    cat "$work/refused.err"
    return 1
}

# draw_seed: seeds RANDOM by SEED, or by a number of this run, and prints how to repeat the run.
draw_seed() {
    SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
    RANDOM=$SEED
    echo "seed $SEED; repeat with: SEED=$SEED B=$B $0"
}

# end_suite: prints the counts, and ends with status 1 when a check failed.
end_suite() {
    echo "$passed passed, $failed failed, $skipped skipped"
    exit $((failed > 0))
}
