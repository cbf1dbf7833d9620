#!/bin/bash
# ci/deps prints nothing when all packages are installed, after one query of the package tool. Otherwise it prints one
# line per package, with its purpose, and the command to run. Stand-ins replace the package tools, so the suite installs
# nothing.
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

# stand_in NAME TEXT: makes a script that replaces a tool.
stand_in() {
    rm -f "$dir/$1"   # may be a link to the real tool
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1"
    chmod +x "$dir/$1"
}

# deps ARGUMENTS...: runs ci/deps with only the stand-ins in PATH; sets got and status.
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

# The time of ci/deps is that of the commands that it starts. PATH has no other command, so starting one prints an
# error.
stand_in dpkg-query "echo >>'$dir/asked'
"'for p in "${@:3}"; do echo "$p install ok installed"; done'
deps all
got+="asked $(wc -l <"$dir/asked") times"
check 'when nothing is missing it queries all packages at once and starts no other command' \
    "$([[ $got == 'asked 1 times' ]] && echo yes)"

stand_in dpkg-query 'for p in "${@:3}"; do
    [[ $p == libdw-dev ]] && echo "$p deinstall ok config-files" || echo "$p install ok installed"; done'
deps build
check 'a missing package is named with its purpose' "$([[ $got == *missing*libdw-dev*symbols* ]] && echo yes)"
check 'no other package is named' "$([[ $got != *zlib1g* ]] && echo yes)"
check 'without root it prints the command to run' \
    "$([[ $status == 2 && $got == *'sudo apt-get install -y --no-install-recommends libdw-dev'* ]] && echo yes)"

# A tool that is installed without its package (node from another source, for example) satisfies the check.
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != sqlite3 ]] && echo "$p install ok installed"; done'
deps run
check 'a missing tool is named' "$([[ $status == 2 && $got == *missing*sqlite3* ]] && echo yes)"
stand_in sqlite3 ''
deps run
check 'a tool from another source is accepted' "$([[ $status == 0 && -z $got ]] && echo yes)"

# An optional package is installed when possible. Otherwise it is reported.
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != android-libart ]] && echo "$p install ok installed"; done'
deps test
check 'a missing optional package is reported and is no failure' \
    "$([[ $status == 0 && $got == *missing*android-libart*'sudo apt-get install'*android-libart* ]] && echo yes)"
stand_in id 'echo 0'
stand_in apt-get 'exit 100'
for tool in mktemp rm tail chmod; do ln -sf "$(command -v $tool)" "$dir/$tool"; done
stand_in sleep ''
deps test
check 'an optional package that cannot be installed is no failure' \
    "$([[ $status == 0 && $got == *'goes without: android-libart'* ]] && echo yes)"
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != libdw-dev ]] && echo "$p install ok installed"; done'
deps build
check 'a required package that cannot be installed is a failure' \
    "$([[ $status == 2 && $got == *'could not install'* ]] && echo yes)"
stand_in id 'echo 1000'
stand_in apt-get 'echo "apt-get must not run"; exit 9'
stand_in dpkg-query 'for p in "${@:3}"; do echo "$p install ok installed"; done'

deps nonsense
check 'an unknown target is refused' "$([[ $status == 2 && $got == *'no such target'* ]] && echo yes)"
deps --list all
check 'the list includes installed packages' "$([[ $got == *there*libdw-dev* ]] && echo yes)"

# Each group that the makefiles name exists.
for group in $(grep -ohE 'deps-[a-z]+' Makefile ci/*.mk | sort -u | sed 's/deps-//'); do
    deps "$group"
    check "group $group exists" "$([[ $status == 0 ]] && echo yes)"
done

# makes ARGUMENTS...: runs make with the stand-ins first in PATH and a separate B; sets got and status.
makes() {
    got=$(PATH=$dir:$PATH make --no-print-directory "B=$dir/b" "$@" 2>&1)
    status=$?
}

stand_in id 'echo 0'
stand_in apt-get 'echo "apt-get must not run"; exit 9'
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p != libdw-dev ]] && echo "$p install ok installed"; done'
makes
check 'plain make installs nothing: it names missing packages and the command that installs them' \
    "$([[ $status == 2 && $got == *'sudo apt-get install -y --no-install-recommends libdw-dev'* &&
        $got != *'must not run'* ]] && echo yes)"
makes deps-run
check 'a target that installs packages does so' "$([[ $status == 2 && $got == *'must not run'* ]] && echo yes)"

echo "$passed passed, $failed failed"
((failed == 0))
