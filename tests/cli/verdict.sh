# Functions for tests of the command line. A suite sources this file in its work folder, after it has set
#
#   suite      its script, for the command that repeats a test
#   home       the root of the tree
#   work       its work folder
#   only       a pattern of names; empty: all
source "$home/tests/support/files.sh"
passed=0 failed=0 skipped=0

# verdict NAME [FAULT]: counts a test; a fault fails it.
verdict() {
    if [[ -z ${2:-} ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $1: $2"
        echo "     repeat with: B=$B $suite '$1'"
    fi
}

skip() {
    ((skipped++))
    echo "SKIPPED $1: $2"
}

wanted() {
    [[ -z $only || $1 =~ $only ]]
}

# run COMMAND...: sets status; leaves stdout in $work/out and stderr in $work/err. tests/run ends a command that hangs,
# with its suite.
run() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# until_caught PID SIGNAL: waits until the process has a handler for the signal, at most twenty seconds.
until_caught() {
    local t caught bit=$((1 << ($(kill -l "$2") - 1)))
    for ((t = 0; t < 2000; t++)); do
        caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$1/status" 2>/dev/null)
        ((0x${caught:-0} & bit)) && return
        sleep 0.01
    done
    return 1
}

# judge_refusal TEXT: sets `fault`, to nothing when the last run was refused with status 2 and one line that begins with
# "strobe: " or "strobe-lab: " and contains TEXT.
judge_refusal() {
    local said rest
    fault=
    read_file said "$work/err"
    rest=${said#*$'\n'}
    if ((status != 2)); then
        fault="exit status $status, expected 2; it said: ${said:0:300}"
    elif [[ $said != *$'\n' || -n $rest ]]; then
        fault="expected one line of complaint: ${said:0:300}"
    elif [[ $said != "strobe: "* && $said != "strobe-lab: "* ]]; then
        fault="the complaint does not begin with the program's name: $said"
    elif [[ -n ${1:-} && $said != *"$1"* ]]; then
        fault="the complaint lacks '$1': $said"
    elif [[ -s $work/out ]]; then
        fault="it printed something: $(head -c 100 "$work/out")"
    fi
}

# refused TEXT: prints what judge_refusal finds.
refused() {
    local fault
    judge_refusal "${1:-}"
    [[ -z $fault ]] || echo "$fault"
}

# is_refused NAME TEXT COMMAND...: the command is refused with TEXT.
is_refused() {
    local name=$1 text=$2 fault
    shift 2
    wanted "$name" || return 0
    run "$@"
    judge_refusal "$text"
    verdict "$name" "$fault"
}
