#!/bin/bash
# Checks that the library has what Android's linker requires, and lacks what it must not contain.
#
#   tests/android/facts.sh FOLDER     FOLDER has a libstrobe.so for each of arm64, armv7, x86_64, and beside it
#                                     strobe.aar
set -u
cd "$(dirname "$0")/../.." || exit 2
folder=$1 passed=0 failed=0

holds() {
    if [[ $2 == "$3" ]]; then
        ((passed++))
    else
        echo "FAIL $1: expected '$3', found '$2'"
        ((failed++))
    fi
}

for abi in arm64:AArch64 armv7:ARM x86_64:X86-64; do
    machine=${abi#*:} abi=${abi%:*} library=$folder/$abi/libstrobe.so
    [[ -s $library ]] || { echo "FAIL $library: not built"; ((failed++)); continue; }
    read_elf() { llvm-readelf "$@" "$library" 2>/dev/null; }
    holds "$abi: machine" "$(read_elf -h | grep -oE 'Machine: .*' | grep -oE 'AArch64|ARM|X86-64')" "$machine"
    holds "$abi: soname" "$(read_elf -d | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" libstrobe.so
    holds "$abi: needed" "$(read_elf -d | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | paste -sd' ')" \
        'libc.so libdl.so'
    holds "$abi: versions" "$(read_elf -V | grep -oE 'Name: [A-Z]+[^ ]*' | sort -u | paste -sd' ')" 'Name: LIBC'
    holds "$abi: no name of another C library" "$(grep -c GLIBC "$library")" 0
    holds "$abi: no thread-local segment" "$(read_elf -lW | grep -c ' TLS ')" 0
    holds "$abi: no text relocation" "$(read_elf -d | grep -c TEXTREL)" 0
    holds "$abi: stack not executable" "$(read_elf -lW | awk '$1 == "GNU_STACK" { print $7 }')" RW
    holds "$abi: segments of 16 KiB pages" "$(read_elf -lW | awk '$1 == "LOAD" { print $NF }' | sort -u)" 0x4000
    holds "$abi: note of level 24" "$(llvm-objcopy --dump-section .note.android.ident=/dev/stdout "$library" /dev/null |
        od -An -v -tu4 -w4 | awk '{ $1 = $1; print }' | paste -sd' ')" '8 4 1 1919184449 6580591 24'
    [[ $abi != armv7 ]] || # the entry at the end of the code
        holds "$abi: entries of code that cannot be unwound" "$(read_elf -u | grep -c 'Model: CantUnwind')" 1
    holds "$abi: has a build id" "$(read_elf -n | grep -c 'Build ID')" 1
    holds "$abi: both hash tables" "$(read_elf -d | grep -cE '\((GNU_)?HASH\)')" 2
    holds "$abi: exports" "$(llvm-nm -D --defined-only "$library" | awk '{ print $3 }' | sort | paste -sd' ')" \
        "JNI_OnLoad$(printf ' strobe_%s' art_start art_status art_stop begin counter dump end get_flight_status \
            get_status netease_start netease_stop pause resume rhea_dump rhea_enter rhea_hook_loaded rhea_leave \
            rhea_release rhea_start rhea_stop rhea_throw set_thread_name start stop thread_counter)"
    # The library may call only the functions in the lists against which it is linked. A function that none of the
    # three libraries calls is superfluous in the lists.
    llvm-nm -D -u "$library" | awk '{ sub(/@.*/, "", $2); print $2 }'
done >"$folder/facts.out"
grep -h '^FAIL' "$folder/facts.out"

# The archive: what an app's build reads.
unpacked=$folder/unpacked aar=$folder/../strobe.aar
rm -rf "$unpacked"
if python3 -m zipfile -e "$aar" "$unpacked" && python3 -m zipfile -e "$unpacked/classes.jar" "$unpacked/classes"; then
    for abi in arm64=arm64-v8a armv7=armeabi-v7a x86_64=x86_64; do
        holds "archive, $abi: code of the built library" \
            "$(llvm-readelf -n "$unpacked/jni/${abi#*=}/libstrobe.so" | grep 'Build ID')" \
            "$(llvm-readelf -n "$folder/${abi%=*}/libstrobe.so" | grep 'Build ID')"
        bytes=$(wc -c <"$unpacked/jni/${abi#*=}/libstrobe.so")
        holds "archive, $abi: a library of at most 400 KB" "$((bytes <= 400000))" 1
    done
    holds 'archive: its level' "$(grep -o 'minSdkVersion="[0-9]*"' "$unpacked/AndroidManifest.xml")" \
        'minSdkVersion="24"'
    holds 'archive: public methods of strobe.Strobe' \
        "$(javap -cp "$unpacked/classes" strobe.Strobe | sed -nE 's/.* ([a-z]+)\(.*/\1/p' | sort -u | paste -sd' ')" \
        'begin counter dump end pause resume start status stop'
    holds 'archive: its rule keeps the native methods' "$(head -n 1 "$unpacked/proguard.txt")" \
        '-keep class strobe.Strobe {'
else
    holds 'archive: can be unpacked' no yes
fi
called=$(grep -v '^FAIL' "$folder/facts.out" | sort -u)
allowed=$(sort -u engine/backend/sdk/bionic/*.syms)
holds 'undefined symbols' "$(comm -13 <(echo "$allowed") <(echo "$called") | paste -sd' ')" ''
holds 'names in the lists that nobody calls' \
    "$(comm -23 <(echo "$allowed") <(echo "$called") | grep -v __aeabi_ | paste -sd' ')" ''
echo "$passed passed, $failed failed"
((failed == 0))
