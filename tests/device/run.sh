#!/bin/bash
# The whole way from an app to a trace: an app in a fake runtime, as `make run` captures it; and an app in the genuine
# Android 11 runtime, which has libstrobe.so loaded by the runtime, `strobe capture` with the genuine adb, and the trace
# processor of Perfetto. The device is the stand-in of tests/capture; the app (app.c) is a process of this machine.
#
#   B=DIR tests/device/run.sh [LIBRARY COMMAND...]
#
# LIBRARY and COMMAND: the library for the app, and how the app is started, when it is not of this machine's processor;
# COMMAND sets the name of the app's process to com.example.app.
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
root=$PWD package=com.example.app
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

cd "$work" || exit 2
cp "$1" libstrobe.so
app=("${@:2}" art11 "$root/fixtures/art/contract.dex" "$work/libstrobe.so")

begin_device device
cd device || exit 2
mkdir -p "data/$package/files"
{
    echo '#!/bin/bash'
    echo "export STROBE_DATA=$(printf %q "$PWD")/data"
    echo "(exec -a $package $(printf '%q ' "${app[@]}") \$SESSION) </dev/null >app.log 2>&1 &"
    echo 'echo $!'
} >start
chmod +x start
echo 'of another' >props/debug.strobe.start

# begin_app: starts the app by itself, as a user of the device does.
begin_app() {
    ./start $package >pids/$package
    until grep -q libstrobe.so "/proc/$(<pids/$package)/maps" || [[ -s app.log ]]; do sleep 0.05; done
}

end_app() {
    kill -9 "$(<pids/$package)"
    rm pids/$package
}

# judge TRACE: Perfetto's trace processor reads the trace. The lines of check_app.mjs are checks.
node=(node --liftoff-only)
"${node[@]}" -e 0 2>/dev/null || node=(node)
judge() {
    local lines
    if ! command -v node >/dev/null; then
        skip 'trace processor' 'node is not installed'
        return
    elif ! why=$("$root/tests/genuine/fetch-trace-processor.sh" "$B/trace-processor"); then
        skip 'trace processor' "$why"
        return
    fi
    lines=$("${node[@]}" "$root/tests/device/check_app.mjs" "$B/trace-processor" "$1" 2>&1)
    (($? == 0 || $(grep -c '^FAIL ' <<<"$lines"))) || fail "check_app.mjs: $lines"
    while IFS= read -r line; do
        case $line in
        'ok '*) pass ;;
        'FAIL '*) fail "$1: ${line#FAIL }" ;;
        esac
    done <<<"$lines"
}

"${app[@]:0:${#app[@]}-3}" art11 nothing nothing >/dev/null 2>started
if grep -q 'not installed' started; then
    skip 'the runtime' "$(head -n 1 started)"
    end_suite
fi
capture=("$B/strobe" capture -a $package -t "${SECONDS_CAPTURED:-1}s")

# ---- started by the property

check 'an app is restarted and captured' "${capture[@]}" --restart -o ../restarted.perfetto-trace
check 'its session is consistent' balanced ../restarted.strobe
check 'the device is as it was' left_as_it_was
check 'the app runs on' kill -0 "$(<pids/$package)"
check 'the session is in the folder of the app' test -s data/$package/files/$package.strobe
judge ../restarted.perfetto-trace
end_app

# ---- started by the app, with the class strobe.Strobe

SESSION=$PWD/data/$package/files/own.strobe
export SESSION
begin_app
check 'an app that has begun its capture is captured' "${capture[@]}" -o ../own.perfetto-trace
check 'its session is consistent' balanced ../own.strobe
check 'the device is as it was, after an app with a capture of its own' left_as_it_was
check 'the capture of the app goes on' grep -q '"state":"running"' <(
    curl -s --abstract-unix-socket "strobe.$(<pids/$package)" http://strobe/status)
judge ../own.perfetto-trace
end_app
unset SESSION

# ---- started by a file in the app's folder

echo 'control=strobe.{pid}' >data/$package/files/strobe.start
begin_app
check 'an app with a file strobe.start is captured' "${capture[@]}" -o ../by-file.strobe
check 'its session is consistent' balanced ../by-file.strobe
check 'its session has the methods of the app' shows ../by-file.strobe 'void Main.contend(int)'
end_app

end_suite
