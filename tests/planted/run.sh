#!/bin/bash
# Bugs planted in the engine, which the swarm must find: each patch here is one. The tree is copied, the patch applied,
# the lab built from it, and a swarm of at most 1,000 seeds played. It must break the promise that the patch names, say
# the seed, a command that fails again, and a smaller scenario that fails too. The same commands on this tree must pass.
#
# A patch's first lines say:   promise: WORDS     how the violation begins
#                              scenario: PATH     what is played
#                              options: ...       more options of `strobe run`
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8 B=${B:-build}
[[ $B == /* ]] || B=$home/$B
unset MAKEFLAGS MAKELEVEL
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {   # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/check.log" 2>&1; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        head -n 20 "$work/check.log"
    fi
}

said() {    # what the first line of the head of a patch says of a word
    sed -n "s/^$2: //p;/^---/q" "$1" | head -n 1
}

# A copy of the tree with its objects, so that only what the patch changes is compiled.
copy_tree() {
    mkdir -p "$1/build"
    tar -c --exclude=./build --exclude=./build-* --exclude=./out --exclude=./.git . | tar -x -C "$1"
    cp -a "$B/flags" "$B/sim" "$B/obj" "$B"/libstrobe-*.a "$1/build/"
}

ends_with() {   # STATUS COMMAND...
    local want=$1 got
    shift
    timeout 60 "$@" >/dev/null 2>"$work/ended"
    got=$?
    ((got == want)) || { echo "exit status $got, not $want:" "$@"; cat "$work/ended"; return 1; }
}

for patch in tests/planted/*.patch; do
    name=$(basename "$patch" .patch)
    tree=$work/$name
    promise=$(said "$patch" promise) scenario=$(said "$patch" scenario)
    read -ra options <<<"$(said "$patch" options)"
    copy_tree "$tree"
    check "$name: applies" patch -s -p1 -d "$tree" -i "$home/$patch"
    check "$name: builds" make -s -C "$tree" B=build build/strobe
    (cd "$tree" && timeout 100 build/strobe run "$scenario" --seeds 1..1000 -j 2 "${options[@]}" -o out) \
        >"$work/$name.out" 2>"$work/$name.err"
    check "$name: is found within 1,000 seeds" test $? = 1
    check "$name: breaks the promise it should" grep -qE "^strobe: seed [0-9]+: $promise" "$work/$name.err"
    read -ra replay <<<"$(sed -n 's/^replay:  strobe //p' "$work/$name.err")"
    read -ra again <<<"$(sed -n 's/^         strobe //p' "$work/$name.err")"
    check "$name: the command said fails again" ends_with 1 env -C "$tree" build/strobe "${replay[@]:-none}"
    check "$name: the scenario made small fails too" ends_with 1 env -C "$tree" build/strobe "${again[@]:-none}"
    check "$name: it is smaller" test "$(wc -l <"$tree/${again[1]:-none}")" -lt "$(wc -l <"$scenario")"
    check "$name: this tree keeps its promises there" ends_with 0 env -C "$tree" "$B/strobe" "${again[@]:-none}"
done

echo "$passed passed, $failed failed"
((failed == 0))
