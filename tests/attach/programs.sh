# What the suites of `strobe attach` share: programs in a state (states.c). A suite sources this file after
# tests/support/suite.sh.
strobe=$B/strobe
own=$B/tests/attach
mkdir -p "$own"

# build NAME OPTIONS: compiles states.c as NAME, unless that is done. Suites beside this one may do the same.
build() {
    [[ $own/$1 -nt tests/attach/states.c ]] && return
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread \
        -o "$work/$1" tests/attach/states.c "${@:2}" && mv "$work/$1" "$own/$1" || fail "$1 does not build"
}
build states

# begin COMMAND...: starts a program whose standard input stays open; sets pid. Returns when it is ready.
begin() {
    rm -f "$work/in" "$work/out"
    mkfifo "$work/in"
    "$@" <"$work/in" >"$work/out" 2>&1 &
    pid=$!
    exec 7>"$work/in"
    for ((i = 0; i < 1000; i++)); do
        grep -qs ready "$work/out" && return
        sleep 0.01
    done
    fail "$* is not ready"
}

# end_program: ends the program's input; sets ended to its status.
end_program() {
    exec 7>&-
    wait "$pid"
    ended=$?
}

# ends_sound NAME: the program ends, and has noticed nothing.
ends_sound() {
    end_program
    if ((ended == 0)) && [[ $(tail -n 1 "$work/out") == sound ]]; then
        pass
    else
        fail "$1: the program ended with $ended: $(tail -n 1 "$work/out")"
    fi
}
