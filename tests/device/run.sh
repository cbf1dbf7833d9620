#!/bin/bash
# The whole way from an app to a trace: an app in a fake runtime, as `make run` captures it; and an app in the genuine
# Android 11 runtime, which has libstrobe.so loaded by the runtime, `strobe capture` with the genuine adb, and the trace
# processor of Perfetto. The device is the stand-in of tests/capture. The app (app.c) is a process of this machine, or
# of a machine that is booted for it.
#
#   B=DIR tests/device/run.sh [--booted ROOT] [LIBRARY COMMAND...]
#
# LIBRARY and COMMAND: the library for the app, and how the app is started, when it is not of this machine's processor;
# COMMAND sets the name of the app's process to com.example.app.
# --booted: the device and the app are in a machine that is booted for them (ci/boot). ROOT becomes the root directory
# of this machine. It has the files of COMMAND, a shell and python3.11. With ROOT/bin/perfetto, whose service ROOT/begin
# has started, an app is captured with the system's own trace.
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
root=$PWD package=com.example.app boot=
if [[ ${1:-} == --booted ]]; then
    boot=$(realpath "$2") || exit 2
    shift 2
fi
if (($# == 0)); then
    make -s "$B/device/app_process64" >/dev/null || exit 1
    set -- "$B/libstrobe-art.so" "$B/device/app_process64"
fi
for tool in adb curl; do
    command -v $tool >/dev/null && continue
    skip 'all checks' "$tool is not installed"
    end_suite
done
. tests/capture/device.sh

# The last step of `make run`: an app in a fake runtime, captured over its control server.
demo_captures_an_app() {
    ci/demo "$work/demo" app >"$work/demo.txt" && balanced "$work/demo/app.strobe" &&
        shows "$work/demo/app.strobe" 'void Main.contend(int)' && test -s "$work/demo/app.perfetto-trace" &&
        grep -qxF "The app ran on. Its trace: $work/demo/app.perfetto-trace" "$work/demo.txt" &&
        (($(grep -cE '^ +[0-9.]+ % ' "$work/demo.txt") == 3)) && return
    cat "$work/demo.txt"
    return 1
}
if [[ $2 == "$B/device/app_process64" ]]; then
    check 'the last step of make run prints the three hottest methods of an app that runs on' demo_captures_an_app
fi

# ---- the device

if [[ -n $boot ]]; then
    device=$boot/device
    make_device "$device"
else
    begin_device device
    device=$work/device
fi
mkdir -p "$device/data/$package/files" "$device/data/misc/perfetto-traces" "$device/data/local/tmp"
cp "$1" "$device/libstrobe.so"
cp fixtures/art/contract.dex "$device/"
cat >"$device/start" <<END
#!/bin/bash
export STROBE_DATA=\$PWD/data
exec 3>&1 </dev/null >app.log 2>&1
(exec -a $package $(printf '%q ' "${@:2}") art11 "\$PWD/contract.dex" "\$PWD/libstrobe.so" \$SESSION) 3>&- &
echo \$! >&3
END
chmod +x "$device/start"
echo 'of another' >"$device/props/debug.strobe.start"
if [[ -n $boot ]] && ! boot_device "$boot"; then
    fail 'the machine does not boot'
    end_suite
fi
cd "$work" || exit 2

# begin_app [SESSION]: starts the app by itself, as a user of the device does.
begin_app() {
    on_device "SESSION=${1:-} ./start $package >pids/$package"
    on_device "until grep -q libstrobe.so /proc/$(app_pid)/maps || test -s app.log; do sleep 0.1; done"
}

app_pid() {
    on_device "cat pids/$package"
}

end_app() {
    on_device "kill -9 $(app_pid); rm pids/$package"
}

# app_status: prints what the control server of the app says of its state.
app_status() {
    local port
    port=$(adb -s "$serial" forward tcp:0 "localabstract:strobe.$(app_pid)") || return
    curl -s "http://127.0.0.1:$port/status"
    adb -s "$serial" forward --remove "tcp:$port"
}

. "$root/tests/support/node.sh"

# judge TRACE [OPTION]: Perfetto's trace processor reads the trace. The lines of check_app.mjs are checks.
judge() {
    local lines
    if ! command -v node >/dev/null; then
        skip 'trace processor' 'node is not installed'
        return
    elif ! why=$("$root/tests/genuine/fetch-trace-processor.sh" "$B/trace-processor"); then
        skip 'trace processor' "$why"
        return
    fi
    lines=$("${node[@]}" "$root/tests/device/check_app.mjs" "$B/trace-processor" "$@" 2>&1)
    (($? == 0 || $(grep -c '^FAIL ' <<<"$lines"))) || fail "check_app.mjs: $lines"
    while IFS= read -r line; do
        case $line in
        'ok '*) pass ;;
        'FAIL '*) fail "$1: ${line#FAIL }" ;;
        esac
    done <<<"$lines"
}

on_device "$(printf '%q ' "${@:2}") art11 nothing nothing" >started 2>&1
if grep -q 'not installed' started; then
    skip 'the runtime' "$(head -n 1 started)"
    end_suite
fi
capture=("$B/strobe" capture -a $package -t "${SECONDS_CAPTURED:-1}s")

# with_system COMMAND...: the command succeeds, and does not print that there is no trace of the system.
with_system() {
    "$@" >said 2>&1 || { cat said; return 1; }
    ! grep 'no trace of the system' said
}

# ---- started by the property

check 'an app is restarted and captured' "${capture[@]}" --restart -o restarted.perfetto-trace
check 'its session is consistent' balanced restarted.strobe
check 'the device is as it was' left_as_it_was
check 'the app runs on' on_device "kill -0 $(app_pid)"
check 'the session is in the folder of the app' on_device "test -s data/$package/files/$package.strobe"
judge restarted.perfetto-trace
end_app

# ---- with the system's own trace, by the genuine perfetto

if [[ -n $boot && -e $boot/bin/perfetto ]]; then
    check "an app is captured with the system's trace" \
        with_system "${capture[@]}" --restart --system sched -o with-system.perfetto-trace
    check 'nothing is left of it on the device' on_device '! ls data/misc/perfetto-traces | grep .'
    judge with-system.perfetto-trace --system
    end_app
fi

# ---- started by the app, with the class strobe.Strobe

begin_app "\$PWD/data/$package/files/own.strobe"
check 'an app that has begun its capture is captured' "${capture[@]}" -o own.perfetto-trace
check 'its session is consistent' balanced own.strobe
check 'the device is as it was, after an app with a capture of its own' left_as_it_was
check 'the capture of the app goes on' grep -q '"state":"running"' <(app_status)
judge own.perfetto-trace
end_app

# ---- started by a file in the app's folder

on_device "echo 'control=strobe.{pid}' >data/$package/files/strobe.start"
begin_app
check 'an app with a file strobe.start is captured' "${capture[@]}" -o by-file.strobe
check 'its session is consistent' balanced by-file.strobe
check 'its session has the methods of the app' shows by-file.strobe 'void Main.contend(int)'
end_app

end_suite
