#!/bin/bash
# ci/deps: silent when all is there, after a single question to the package tool; otherwise one line a package, with its
# reason, and the one command to run. Played against stand-ins for the package tools, so that nothing is installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

check() {
    if [[ $2 == yes ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s\n%s\n' "$1" "$got"
    fi
}

# stand_in NAME TEXT
stand_in() {
    rm -f "$dir/$1"   # which may be a link to the real one
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1"
    chmod +x "$dir/$1"
}

# deps ARGUMENTS...: runs ci/deps with the stand-ins alone on PATH; sets got and status.
deps() {
    got=$(PATH=$dir bash ci/deps "$@" 2>&1)
    status=$?
}
ln -s "$(command -v bash)" "$dir/bash"

stand_in id 'echo 1000'
stand_in apt-get 'echo "apt-get must not run"; exit 9'
stand_in dpkg-query 'for p in "${@:3}"; do echo "$p install ok installed"; done'
deps all
check 'silent when nothing is missing' "$([[ $status == 0 && -z $got ]] && echo yes)"

# Its time is that of the commands that it starts. No other command is on its PATH: it would say that one is not found.
stand_in dpkg-query "echo >>'$dir/asked'
"'for p in "${@:3}"; do echo "$p install ok installed"; done'
deps all
got+="asked $(wc -l <"$dir/asked") times"
check 'it asks once for all packages, and starts nothing else, when nothing is missing' \
    "$([[ $got == 'asked 1 times' ]] && echo yes)"

stand_in dpkg-query 'for p in "${@:3}"; do
    [[ $p == libdw-dev ]] && echo "$p deinstall ok config-files" || echo "$p install ok installed"; done'
deps build
check 'names what is missing and why' "$([[ $got == *missing*libdw-dev*symbols* ]] && echo yes)"
check 'names nothing else' "$([[ $got != *zlib1g* ]] && echo yes)"
check 'asks for one command when not root' \
    "$([[ $status == 2 && $got == *'sudo apt-get install -y --no-install-recommends libdw-dev'* ]] && echo yes)"

# A tool that is there without its package (node from elsewhere, say) is good enough.
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != sqlite3 ]] && echo "$p install ok installed"; done'
deps run
check 'a missing tool is named' "$([[ $status == 2 && $got == *missing*sqlite3* ]] && echo yes)"
stand_in sqlite3 ''
deps run
check 'a tool from elsewhere will do' "$([[ $status == 0 && -z $got ]] && echo yes)"

# What can be done without is had where it can be, and said where it can't.
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != android-libart ]] && echo "$p install ok installed"; done'
deps test
check 'what is optional is asked for, not insisted on' \
    "$([[ $status == 0 && $got == *missing*android-libart*'sudo apt-get install'*android-libart* ]] && echo yes)"
stand_in id 'echo 0'
stand_in apt-get 'exit 100'
for tool in mktemp rm tail chmod; do ln -sf "$(command -v $tool)" "$dir/$tool"; done
stand_in sleep ''
deps test
check 'what is optional and not to be had is no failure' \
    "$([[ $status == 0 && $got == *'goes without: android-libart'* ]] && echo yes)"
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != libdw-dev ]] && echo "$p install ok installed"; done'
deps build
check 'what is needed and not to be had is a failure' \
    "$([[ $status == 2 && $got == *'could not install'* ]] && echo yes)"
stand_in id 'echo 1000'
stand_in apt-get 'echo "apt-get must not run"; exit 9'
stand_in dpkg-query 'for p in "${@:3}"; do echo "$p install ok installed"; done'

deps nonsense
check 'an unknown target is refused' "$([[ $status == 2 && $got == *'no such target'* ]] && echo yes)"
deps --list all
check 'the list says what is there' "$([[ $got == *there*libdw-dev* ]] && echo yes)"

# Every group the makefiles ask for exists.
for group in $(grep -ohE 'deps-[a-z]+' Makefile ci/*.mk | sort -u | sed 's/deps-//'); do
    deps "$group"
    check "group $group exists" "$([[ $status == 0 ]] && echo yes)"
done

# makes ARGUMENTS...: runs make with the stand-ins first on PATH, in a B of its own; sets got and status.
makes() {
    got=$(PATH=$dir:$PATH make --no-print-directory "B=$dir/b" "$@" 2>&1)
    status=$?
}

stand_in id 'echo 0'
stand_in apt-get 'echo "apt-get must not run"; exit 9'
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != libdw-dev ]] && echo "$p install ok installed"; done'
makes
check 'plain make installs nothing: it says what is missing, and the command that installs it' \
    "$([[ $status == 2 && $got == *'sudo apt-get install -y --no-install-recommends libdw-dev'* &&
        $got != *'must not run'* ]] && echo yes)"
makes deps-run
check 'a target that does the set-up installs' "$([[ $status == 2 && $got == *'must not run'* ]] && echo yes)"

echo "$passed passed, $failed failed"
((failed == 0))
