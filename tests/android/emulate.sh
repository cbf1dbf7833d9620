#!/bin/bash
# Tests the engine for arm64 with Android's genuine runtime: the build for Linux and the build for Android, on an
# emulated processor and on a booted kernel.
#
#   tests/android/emulate.sh B ARM64     B: this machine's build, with the libraries for Android; ARM64: the cross build
#
# When a release of the runtime or the kernel cannot be fetched, its tests are skipped with the reason. Only cases that
# do not need a processor's full speed run. With FULL=1, as in the nightly run, all cases run in both modes.
# tests/device captures an app that loads the library for Android.
#
# takes: 150 s
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(cd "$1" && pwd) arm64=$(cd "$2" && pwd) triplet=aarch64-linux-gnu
passed=0 failed=0 skipped=0 limit=${LIMIT:-200}
modes=(quick) one=()
mapfile -t few <tests/contract_art/few.txt
inside=(native_and_managed_frames_are_in_the_order_of_their_calls
    frames_outside_of_managed_ones_are_found_without_registers) # of the engine: not with the library for Android
[[ -z ${FULL:-} ]] || modes=(quick interpreted) one=(-j 1) few=() inside=()
guest=(bash libtinfo6 python3.11-minimal libpython3.11-minimal libexpat1 zlib1g) # a booted device's
perfetto=(perfetto libc6 libstdc++6 libgcc-s1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export QEMU_CPU=max,pauth-impdef=on

skip() {
    echo "SKIPPED $1: $2"
    ((skipped++))
}

# count NAME COMMAND...: runs a command that ends with `N passed, N failed, N skipped`, and adds up these counts.
count() {
    local name=$1 p f s
    shift
    "$@" >"$work/log" 2>"$work/err"
    local status=$?
    read -r p f s < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 0\4/p' "$work/log" |
        tail -n 1)
    grep -E '^SKIP(PED)? ' "$work/log"
    echo "$name: ${p:-0} passed, ${f:-0} failed, $((10#${s:-0})) skipped"
    if [[ -z ${p:-} ]] || ((status && f == 0)); then
        echo "FAIL $name: status $status"
        f=$((${f:-0} + 1))
    fi
    ((status == 0)) || tail -n 30 "$work/log" "$work/err"
    ((passed += ${p:-0}, failed += f, skipped += 10#${s:-0}))
}

# set_emulator RELEASE: sets `emulator`, the command before a program for an emulated processor. The root has that
# release's runtime and libraries.
set_emulator() {
    emulator=(qemu-aarch64-static -L "$arm64/art$1" -E B="$arm64"
        -E STROBE_ART11="$arm64/art11" -E STROBE_ART14="$arm64/art14"
        ${SHIM:+-E STROBE_ANDROID_LIBRARY="$build/aar/lib/arm64/libstrobe.so"}
        -E LD_LIBRARY_PATH="${SHIM:+$SHIM:}/usr/lib/7zip:/usr/lib/p7zip:$arm64/sysroot/usr/lib/$triplet")
}

# emulated RELEASE PROGRAM ARGUMENTS: on an emulated processor.
emulated() {
    local emulator
    set_emulator "$1"
    timeout "$limit" "${emulator[@]}" "${@:2}"
}

# captured RELEASE: `strobe capture` of this machine captures an app on an emulated processor.
captured() {
    local emulator
    set_emulator "$1"
    B=$build SECONDS_CAPTURED=2 timeout "$limit" tests/device/run.sh "$build/aar/lib/arm64/libstrobe.so" \
        "${emulator[@]}" -0 com.example.app "$arm64/device/app_process64"
}

# make_root FOLDER: fills the root directory of a machine that is booted, with Android 11's runtime and the libraries
# that programs in /strobe need.
make_root() {
    cp -a "$arm64/art11" "$1"
    rm -rf "$1"/usr/lib/$triplet/gconv "$1"/usr/include
    mkdir -p "$1/strobe/sysroot"
    cp -a "$arm64/sysroot/usr/lib/$triplet"/*.so* "$1/strobe/sysroot/"
    cp -a "$arm64/android/shim" "$1/strobe/"
}
libraries_booted=/strobe/shim:/usr/lib/p7zip:/strobe/sysroot

# booted ARGUMENTS: runs the contract with the engine of the library for Android, in a machine that is booted for it.
booted() {
    local root=$work/root
    make_root "$root"
    mkdir -p "$root/fixtures" && cp -a fixtures/art "$root/fixtures/"
    cp -a "$arm64/shadowhook" "$arm64/contract_android" "$arm64/libstrobe-art.so" "$arm64/libapp.so" \
        "$arm64/libcontract-native.so" "$build/aar/lib/arm64/libstrobe.so" "$root/strobe/"
    KERNEL=$arm64/kernel LIMIT=$limit ci/boot "$root" /bin/sh -c "
        export LD_LIBRARY_PATH=$libraries_booted
        export B=/strobe STROBE_ANDROID_LIBRARY=/strobe/libstrobe.so
        exec /strobe/contract_android $*"
}

# add_perfetto ROOT: adds the programs of Perfetto from $arm64/perfetto, and starts its service at boot.
add_perfetto() {
    local program
    mkdir -p "$1/perfetto"
    cp -a "$arm64/perfetto/usr/lib/$triplet" "$1/perfetto/lib"
    cp -a "$arm64"/perfetto/usr/{bin,sbin}/* "$1/perfetto/"
    cp -a "$arm64"/perfetto/usr/lib/perfetto/* "$1/perfetto/lib/"
    for program in perfetto traced traced_probes; do
        cat >"$1/bin/$program" <<END
#!/bin/sh
exec /perfetto/lib/ld-linux-aarch64.so.1 --library-path /perfetto/lib /perfetto/$program "\$@"
END
        chmod +x "$1/bin/$program"
    done
    cat >"$1/begin" <<'END'
#!/bin/sh
mount -t tracefs tracefs /sys/kernel/tracing
traced &
traced_probes &
END
    chmod +x "$1/begin"
}

# captured_booted: `strobe capture` of this machine captures an app in a machine that is booted for it. The root of that
# machine has the packages of $arm64/guest, with which the stand-in for a device runs there.
captured_booted() {
    local root=$work/app-root
    make_root "$root"
    cp -a "$arm64/guest/." "$root/"
    cp "$arm64/device/app_process64" "$root/strobe/"
    cat >"$root/strobe/app" <<END
#!/bin/bash
export LD_LIBRARY_PATH=$libraries_booted
exec -a com.example.app /strobe/app_process64 "\$@"
END
    chmod +x "$root/strobe/app"
    [[ ! -e $arm64/perfetto/stamp ]] || add_perfetto "$root"
    B=$build KERNEL=$arm64/kernel LIMIT=$limit SECONDS_CAPTURED=2 timeout "$limit" tests/device/run.sh \
        --booted "$root" "$build/aar/lib/arm64/libstrobe.so" /strobe/app
}

count 'the library for Android' tests/android/facts.sh "$build/android"
for release in 11 14; do
    if ! why=$(ci/runtime $release arm64 "$arm64/art$release" 2>&1); then
        skip "Android $release on arm64" "$why"
        continue
    fi
    for mode in "${modes[@]}"; do
        count "Android $release on arm64, $mode" \
            emulated $release "$arm64/contract_art" "${one[@]}" art$release $mode "${few[@]}" "${inside[@]}"
    done
done
if [[ -e $arm64/art11/stamp ]]; then
    SHIM=$arm64/android/shim count 'the library for Android on arm64, emulated processor' \
        emulated 11 "$arm64/contract_android" "${one[@]}" art11 quick "${few[@]}"
    SHIM=$arm64/android/shim count 'strobe capture of an app in Android 11, emulated processor' captured 11
    if why=$(ci/sysroot arm64 "$arm64/kernel" @linux-image-cloud-arm64 busybox-static 2>&1); then
        count 'the library for Android on arm64, booted kernel' booted "${one[@]}" art11 quick "${few[@]}"
        why=$(SUITE=forky ci/sysroot arm64 "$arm64/perfetto" "${perfetto[@]}" 2>&1) || skip 'genuine perfetto' "$why"
        if why=$(ci/sysroot arm64 "$arm64/guest" "${guest[@]}" 2>&1); then
            count 'strobe capture of an app in Android 11, booted kernel' captured_booted
        else
            skip 'strobe capture, booted kernel' "$why"
        fi
    else
        skip 'booted kernel' "$why"
    fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
