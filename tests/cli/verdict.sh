# Functions for tests of the command line. A suite sources this file in its work folder, after it has set
#
#   suite      its script, for the command that repeats a test
#   work       its work folder
#   only       a pattern of names; empty: all
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

# run COMMAND...: sets status; leaves stdout in $work/out and stderr in $work/err.
run() {
    timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null
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

# refused TEXT: prints a fault unless the last run was refused with status 2 and one line that begins with "strobe: " or
# "strobe-lab: " and contains TEXT.
refused() {
    local lines
    lines=$(wc -l <"$work/err")
    if ((status != 2)); then
        echo "exit status $status, expected 2; it said: $(head -c 300 "$work/err")"
    elif ((lines != 1)) || [[ $(tail -c 1 "$work/err" | od -An -c) != *'\n'* ]]; then
        echo "$lines lines of complaint, expected 1: $(head -c 300 "$work/err")"
    elif [[ $(<"$work/err") != "strobe: "* && $(<"$work/err") != "strobe-lab: "* ]]; then
        echo "the complaint does not begin with the program's name: $(<"$work/err")"
    elif [[ -n ${1:-} && $(<"$work/err") != *"$1"* ]]; then
        echo "the complaint lacks '$1': $(<"$work/err")"
    elif [[ -s $work/out ]]; then
        echo "it printed something: $(head -c 100 "$work/out")"
    fi
}

# is_refused NAME TEXT COMMAND...: the command is refused with TEXT.
is_refused() {
    local name=$1 text=$2
    shift 2
    wanted "$name" || return 0
    run "$@"
    verdict "$name" "$(refused "$text")"
}
