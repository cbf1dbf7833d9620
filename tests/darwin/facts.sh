#!/bin/bash
# Checks that the library has what Darwin's loader requires, and lacks what it must not contain.
#
#   tests/darwin/facts.sh FOLDER     FOLDER has a libstrobe.dylib for each of ios, simulator, macos, and beside it
#                                    Strobe.xcframework
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C
folder=$1 passed=0 failed=0
list=engine/backend/sdk/darwin/libSystem.syms
api=$(sed -nE 's/^STROBE_(MACH_)?API .*[ *](strobe_[a-z_]*)\(.*/_\2/p' engine/backend/mach/mach.h \
    engine/include/strobe/capture.h | sort | paste -sd' ')

holds() {
    if [[ $2 == "$3" ]]; then
        ((passed++))
    else
        echo "FAIL $1: expected '$3', found '$2'"
        ((failed++))
    fi
}

# fields KIND FIELD: prints the values of a field of all load commands of a kind, one per line.
fields() {
    awk -v kind="$1" -v field="$2" '$1 == "cmd" { in_it = $2 == kind } in_it && $1 == field { print $2 }' <<<"$commands"
}

# bound TABLE: prints the names in one of llvm-objdump's tables of bound symbols.
bound() {
    llvm-objdump --macho "--$1" "$library" | awk '/^__/ { print $NF }' | sort | paste -sd' '
}

for expected in 'ios|ios|14.0|16.0' 'simulator|iossimulator|14.0|16.0' 'macos|macos|11.0|13.0'; do
    IFS='|' read -r name platform least sdk <<<"$expected"
    library=$folder/$name/libstrobe.dylib
    [[ -s $library ]] || { echo "FAIL $library: not built"; ((failed++)); continue; }
    commands=$(llvm-objdump --macho --private-headers "$library")
    sections=$(fields LC_SEGMENT_64 sectname)
    holds "$name: machine and kind" \
        "$(llvm-objdump --macho --private-header "$library" | awk '$1 == "MH_MAGIC_64" { print $2, $5 }')" 'ARM64 DYLIB'
    holds "$name: platform" "$(fields LC_BUILD_VERSION platform)" "$platform"
    holds "$name: least version" "$(fields LC_BUILD_VERSION minos)" "$least"
    holds "$name: SDK" "$(fields LC_BUILD_VERSION sdk)" "$sdk"
    holds "$name: its name" "$(fields LC_ID_DYLIB name)" @rpath/libstrobe.dylib
    holds "$name: needs" "$(fields LC_LOAD_DYLIB name)" /usr/lib/libSystem.B.dylib
    holds "$name: ways to search that are built in" "$(fields LC_RPATH path)" ''
    holds "$name: has a UUID" "$(fields LC_UUID uuid | grep -cE '^[0-9A-F-]{36}$')" 1
    holds "$name: is signed" "$(fields LC_CODE_SIGNATURE cmd)" LC_CODE_SIGNATURE
    holds "$name: bound by opcodes" "$(grep -oE 'LC_DYLD_(INFO_ONLY|CHAINED_FIXUPS)' <<<"$commands")" LC_DYLD_INFO_ONLY
    holds "$name: segments of 16 KiB pages" \
        "$({ fields LC_SEGMENT_64 vmaddr; fields LC_SEGMENT_64 fileoff; } | while read -r at; do
            ((at % 16384)) && echo "$at"
        done)" ''
    holds "$name: the system's thread-local variables" "$(grep '^__thread' <<<"$sections")" ''
    holds "$name: bound when first called" "$(bound lazy-bind)" ''
    holds "$name: stubs of calls" "$(grep -E '^__(auth_)?stub|^__la_symbol' <<<"$sections")" ''
    # Unused ones are not in the file.
    own=$(llvm-objdump -d --disassemble-symbols=_memcpy,_memmove,_memset,_bzero "$library" 2>/dev/null)
    holds "$name: a copy of its own" "$(grep -oE '<_memcpy>:$' <<<"$own")" '<_memcpy>:'
    holds "$name: what copies and fills call" "$(awk '/\tbl|\tb\t.*<_[a-z]*>$/ { print $NF }' <<<"$own")" ''
    # The first pointer of the section is the first constructor.
    holds "$name: thread-local variables have room before any other constructor" \
        "$(llvm-objdump --macho --section=__DATA_CONST,__mod_init_func "$library" |
            awk '/^0x/ { print $NF; exit }')" \
        _make_key
    holds "$name: exports" \
        "$(llvm-nm --extern-only --defined-only "$library" | awk '{ print $3 }' | sort | paste -sd' ')" "$api"
    called=$(llvm-nm -u "$library" | awk '{ print $NF }' | sort)
    holds "$name: undefined, and not in the list" "$(comm -13 "$list" - <<<"$called" | paste -sd' ')" ''
    holds "$name: in the list, and not called" "$(comm -23 "$list" - <<<"$called" | paste -sd' ')" ''
    holds "$name: paths of this machine" "$(grep -acF "$PWD" "$library")" 0
    holds "$name: debug entries, which name files" "$(llvm-nm -a "$library" | grep -c ' - ')" 0
done
holds 'the list is in order, each name once' "$(sort -cu "$list" 2>&1)" ''
# All variants of a name have its type. The compiler itself calls __cxa_atexit, for destructors at the library's unload.
holds 'called names without their type in abi.c' "$(
    sed 's/^_//; s/\$.*//' "$list" | grep -vx __cxa_atexit | while read -r symbol; do
        grep -q "^TYPE($symbol," engine/backend/mach/abi.c || echo "$symbol"
    done | paste -sd' ')" ''

# The framework: what Xcode reads. @import is how Objective-C and, in effect, Swift use the module.
framework=$folder/../Strobe.xcframework
holds 'framework: its parts' "$(python3 - "$framework/Info.plist" <<'END'
import plistlib, sys
with open(sys.argv[1], "rb") as f:
    info = plistlib.load(f)
print(info["CFBundlePackageType"], info["XCFrameworkFormatVersion"], *sorted(
    part["LibraryIdentifier"] + "=" + part["SupportedPlatform"] + part.get("SupportedPlatformVariant", "")
    for part in info["AvailableLibraries"]))
END
)" 'XFWK 1.0 ios-arm64-simulator=iossimulator ios-arm64=ios macos-arm64=macos'
modules=$(mktemp -d)
for part in ios-arm64=ios ios-arm64-simulator=simulator macos-arm64=macos; do
    place=$framework/${part%=*}
    holds "framework, ${part%=*}: the built library" \
        "$(cmp "$place/libstrobe.dylib" "$folder/${part#*=}/libstrobe.dylib" 2>&1)" ''
    holds "framework, ${part%=*}: a program that imports its module" \
        "$(echo '@import Strobe; int main(void) { return (int)strobe_stop(); }' |
            clang --target=arm64-apple-ios14.0 -x objective-c -fmodules -fmodules-cache-path="$modules" -nostdlibinc \
                -isystem engine/backend/sdk/darwin/include -I "$place/Headers" -Wall -Werror -fsyntax-only - 2>&1)" ''
done
rm -rf "$modules"
echo "the libraries for Darwin: what is in the files"
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
