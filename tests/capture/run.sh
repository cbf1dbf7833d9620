#!/bin/bash
# `strobe capture`: apps of this machine, and an app on a device that the genuine adb reaches. The device is a stand-in
# (device.py) that speaks adb's transport protocol; its apps are processes of this machine.
#
#   B=DIR tests/capture/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
here=$PWD/tests/capture
strobe=$B/strobe
for tool in adb curl; do
    command -v $tool >/dev/null && continue
    skip 'all checks' "$tool is not installed"
    end_suite
done
# A server of adb for this suite only, which ends with it.
export ANDROID_ADB_SERVER_PORT=$((20000 + RANDOM % 10000)) HOME=$work
trap 'stop_all; rm -rf "$work"' EXIT
begun=
stop_all() {
    adb kill-server 2>/dev/null
    disown -a
    [[ -z $begun ]] || kill -9 $begun 2>/dev/null
    [[ ! -d $work/device/pids ]] || cat "$work"/device/pids/* 2>/dev/null | xargs -r kill -9 2>/dev/null
}
cd "$work" || exit 2

# balanced SESSION: the accounting of the session is consistent, according to its report.
balanced() {
    "$strobe" report --json "$1" >report.json && grep -q '"balanced": true' report.json
}

# shows SESSION NAME: the report has that function.
shows() {
    "$strobe" report "$1" >report.txt && grep -q "$2" report.txt
}

# ---- an app of this machine

cat >app.c <<'C'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void draw_frame(void) { for (volatile int i = 0; i < 400000; i++); }
int main(void) { for (;;) { draw_frame(); usleep(2000); } }
C
cc -O1 -g -fno-omit-frame-pointer -o app app.c || exit 2
name=strobe-test-$$
"$strobe" record -q --no-convert -o live.strobe --control="$name" -- ./app &
app=$!
begun+=" $app"

check 'a running app is captured by its socket' "$strobe" capture --local "$name" -t 500ms -o local.perfetto-trace
check 'its session is consistent' balanced local.strobe
check 'its session has the functions of the app' shows local.strobe draw_frame
check 'the app runs on' kill -0 $app
check 'the trace is written' test -s local.perfetto-trace
check 'files that exist are kept' refused 2 'local.strobe: exists already' \
    "$strobe" capture --local "$name" -t 1ms -o local.perfetto-trace
check 'force overwrites them' "$strobe" capture --local "$name" -t 1ms -f -o local.perfetto-trace
check 'a session alone is one file' "$strobe" capture --local "$name" -t 1ms -o 'a folder.strobe'
check 'the end of input does not end a capture' timeout -s INT 1 \
    "$strobe" capture --local "$name" -o eof.strobe
check 'an interrupt ends a capture, and its session is fetched' balanced eof.strobe
check 'Enter ends a capture' bash -c "sleep 0.3; echo" \| "$strobe" capture --local "$name" -o enter.strobe
kill $app
wait $app

# ---- wrong use

is() {
    local name=$1 text=$2
    shift 2
    check "$name" refused 2 "$text" "$strobe" capture "$@"
}
is 'one app is needed' 'which app?' -o x.strobe
is 'one app at a time' 'one app at a time' -a a --local b -o x.strobe
is 'an output is needed' 'where to?' --local b
is 'a time has a unit' 'expected a time' --local b -t 10 -o x.strobe
is 'an ending has a format' 'ending of no format' --local b -o x.html
is 'a port is needed' 'expected HOST:PORT' --host localhost -o x.strobe
is 'nothing listens' 'no control server answers' --local "$name-2" --wait 300ms -o x.strobe
is 'a folder that does not exist' 'nowhere/x.strobe: No such file' --local "$name" -o nowhere/x.strobe

# ---- a device

# begin_device NAME OPTIONS...: makes a device in the folder NAME, and connects adb to it. Sets serial.
begin_device() {
    local device=$work/$1
    mkdir -p "$device"/{bin,props,pids}
    for command in id pm run-as pidof cmd am getprop setprop; do
        ln -sf "$here/commands" "$device/bin/$command"
    done
    printf 'com.example.app debuggable\ncom.example.released\ncom.example.plain debuggable\n' >"$device/packages"
    : >"$device/calls"
    mkfifo "$device/port"
    "$here/device.py" "$device" "${@:2}" >"$device/port" 2>"$device/log" &
    begun+=" $!"
    read -r port <"$device/port"
    serial=127.0.0.1:$port
    adb connect "$serial" >"$device/connected" 2>&1
}

# on NAME TEXT ARGUMENT...: a capture of an app on the device is refused.
on() {
    is "$1" "$2" "${@:3}" -o x.strobe
}

on 'no device' 'no devices' -a com.example.app
begin_device locked --refuse
on 'a device that refuses this host' 'unauthorized' -a com.example.app -s "$serial"
adb disconnect "$serial" >adb.log
begin_device silent --silent
on 'a device that does not answer' 'offline' -a com.example.app -s "$serial"
adb disconnect "$serial" >adb.log
begin_device device
on 'an app that is not installed' 'com.example.none: no app of that name' -a com.example.none
on 'an app that is not debuggable' 'com.example.released: expected a debuggable app' -a com.example.released
on 'an app that does not run' 'com.example.app: does not run' -a com.example.app --wait 300ms
sleep 100 &
begun+=" $!"
echo $! >device/pids/com.example.plain
on 'an app without the library' 'runs without libstrobe.so' -a com.example.plain
begin_device second
on 'two devices' 'more than one device' -a com.example.app
is 'a device that is not there' "device 'nowhere' not found" -a com.example.app -s nowhere -o x.strobe
adb disconnect "$serial" >adb.log
check 'no adb' refused 2 'apt install adb' env PATH="$work/empty" "$strobe" capture -a com.example.app -o x.strobe

end_suite
