#!/bin/bash
# `strobe capture`: apps of this machine, and an app on a device that the genuine adb reaches. The device is a stand-in
# (device.py) that speaks adb's transport protocol; its apps are processes of this machine.
#
#   B=DIR tests/capture/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 35 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
for tool in adb curl; do
    command -v $tool >/dev/null && continue
    skip 'all checks' "$tool is not installed"
    end_suite
done
make -s "HASTE=$(cat "$B/haste" 2>/dev/null)" "B=$B" "$B/lib/libstrobe-capture.so.0" >/dev/null ||
    fail 'the library does not build'
. tests/capture/device.sh
cd "$work" || exit 2

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
# interrupted COMMAND...: sends the command an interrupt when it has captured for a while at the end of its input.
interrupted() {
    python3 - "$@" <<'PYTHON'
import os, pty, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
reader, terminal = pty.openpty()  # the command says that it captures on a terminal only
command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stderr=terminal)
os.close(terminal)
said = b""
while b"capturing" not in said:
    try:
        said += os.read(reader, 4096)
    except OSError:  # the other side is closed
        sys.exit(f"it did not begin to capture: {said}")
time.sleep(0.5)
if command.poll() is not None:
    sys.exit(f"it ended by itself: {said}")
command.send_signal(signal.SIGINT)
sys.exit(command.wait())
PYTHON
}
check 'the end of input does not end a capture' interrupted "$strobe" capture --local "$name" -o eof.strobe
check 'an interrupt ends a capture, and its session is fetched' balanced eof.strobe
# by_enter COMMAND...: presses Enter, which may come before the capture begins.
by_enter() {
    echo | "$@"
}
check 'Enter ends a capture' by_enter timeout 20 "$strobe" capture --local "$name" -o enter.strobe
check 'and its session is fetched' balanced enter.strobe
# ---- the system's own trace

# A stand-in of perfetto, which writes its file when TERM ends it. `calls` has its arguments. A file `old` makes it one
# of Android 11.
cat >perfetto.sh <<'SH'
#!/bin/bash
echo "perfetto $*" >>calls
[[ ! -e old || $1 != --background-wait ]] || { echo 'unrecognized option'; exit 1; }
[[ $* != *forbidden* ]] || { echo 'Permission denied: traced'; exit 1; }
setsid bash -c 'trap "[[ \"\$*\" == *nothing* ]] || echo \"a trace of \$*\" >\"\$0\"; exit" TERM
    while :; do sleep 0.02; done' "$5" "${@:6}" </dev/null >/dev/null 2>&1 &
echo $! | tee -a perfetto-pids
SH
chmod +x perfetto.sh
mkdir with
ln -s ../perfetto.sh with/perfetto
server=$name
local_with() {
    PATH=$work/with:$PATH "$strobe" capture --local "$server" -t 300ms -f "$@"
}

# no_trace_runs FOLDER: perfetto, which was started in this folder, has ended.
no_trace_runs() {
    local pid
    for pid in $(<"$1/perfetto-pids"); do
        ! kill -0 "$pid" 2>/dev/null || { echo "process $pid runs"; return 1; }
    done
}

# says_once TEXT COMMAND...: the command succeeds, and prints one line, which contains the text.
says_once() {
    "${@:2}" 2>said && [[ $(wc -l <said) == 1 ]] && grep -qF -- "$1" said || { cat said; return 1; }
}

check "the system's trace is made beside a capture" local_with --system sched,freq -o sys.json
check "its file is beside the trace" grep -qx 'a trace of sched freq' sys.system.perfetto-trace
check 'the session is there, too' balanced sys.strobe
check 'no file is left of it' bash -c '! compgen -G "$0/strobe-system.*"' "$work"
check 'it does not run any more' no_trace_runs .
mkdir 'a folder of blanks'
in_folder_of_blanks() {
    TMPDIR="$work/a folder of blanks" local_with --system sched -o blanks.strobe
}
check 'the temporary folder may have blanks in its name' in_folder_of_blanks
check 'the file comes from there' grep -qx 'a trace of sched' blanks.system.perfetto-trace
check 'and nothing stays there' bash -c '! ls -A "$0" | grep .' "$work/a folder of blanks"
rm sys.strobe
check "a file of the system's trace is kept" refused 2 'sys.system.perfetto-trace: exists already' \
    "$strobe" capture --local "$name" -t 1ms --system sched -o sys.folded
touch old
check 'an old perfetto is begun without its new option' local_with --system sched -o old.strobe
check 'and its file is there' grep -qx 'a trace of sched' old.system.perfetto-trace
rm old
check 'without perfetto the capture goes on' says_once 'there is no program perfetto or atrace on this machine' \
    "$strobe" capture --local "$name" -t 100ms --system sched -f -o none.strobe
check 'its session is there' balanced none.strobe
check 'without the right the capture goes on' says_once 'perfetto: Permission denied: traced' \
    local_with --system forbidden -o denied.strobe
check 'its session is there' balanced denied.strobe
check 'a trace without a byte is reported' says_once 'perfetto: it has written nothing' \
    local_with --system nothing -o empty.strobe
check 'and has no file' test ! -e empty.system.perfetto-trace
check 'Enter ends the trace, too' by_enter env "PATH=$work/with:$PATH" \
    timeout 20 "$strobe" capture --local "$name" --system sched -o entered.strobe
check 'and its file is there' grep -qx 'a trace of sched' entered.system.perfetto-trace

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
is 'categories are words' 'expected categories such as sched,freq' --local b --system 'a b' -o x.strobe
is 'the system of a port is not reached' '--system is for apps' --host localhost:1 --system sched -o x.strobe
is 'nothing listens' 'no control server answers' --local "$name-2" --wait 300ms -o x.strobe
is 'a folder that does not exist' 'nowhere/x.strobe: No such file' --local "$name" -o nowhere/x.strobe

# ---- a device

# on NAME TEXT ARGUMENT...: a capture of an app on the device is refused.
on() {
    is "$1" "$2" "${@:3}" -o x.strobe
}

on 'no device' 'no devices' -a com.example.app
begin_device locked --refuse
until adb devices | grep -q unauthorized; do sleep 0.05; done
on 'a device that refuses this host' 'unauthorized' -a com.example.app -s "$serial"
adb disconnect "$serial" >adb.log
begin_device silent --silent
until adb devices | grep -q offline; do sleep 0.05; done
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

cat >droid.c <<'C'
/* An app on the device: maps libstrobe.so, and starts a capture as the options of debug.strobe.start say. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strobe/capture.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void draw_frame(void) { for (volatile int i = 0; i < 400000; i++); }
int main(int argc, char **argv)
{
    char name[64];
    struct strobe_error e;
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
    snprintf(name, sizeof name, "strobe.%d", getpid());
    const char *session = argc > 2 ? argv[2] : "app.strobe";
    struct strobe_capture_options o = {.session_path = session, .replace = 1};
    if (argc > 3)
        o.control_port = -1;
    else
        o.control = name;
    if (strobe_start(&o, &e))
        return fprintf(stderr, "%s\n", e.text), 1;
    for (;;) { draw_frame(); usleep(2000); }
}
C
cc -O1 -g -fno-omit-frame-pointer -I"$OLDPWD/engine/include" -o droid droid.c "$B/lib/libstrobe-capture.so.0" \
    -Wl,-rpath,"$B/lib" || exit 2
echo >libstrobe.so
cat >device/start <<SH
#!/bin/bash
[[ \$(<props/debug.strobe.start) == "\$1 control=strobe.{pid} "* ]] || exit 1
setsid "$work/droid" "$work/libstrobe.so" </dev/null >/dev/null 2>&1 &
echo \$!
SH
chmod +x device/start

# ---- an app that listens at a port

./droid libstrobe.so port.strobe port &
begun+=" $!"
until [[ -s port.strobe.control ]]; do sleep 0.05; done
address=$(sed -n 's/^connect-to = "::\(.*\)"$/\1/p' port.strobe.control)
token=$(sed -n 's/^header = "Authorization: Bearer \(.*\)"$/\1/p' port.strobe.control)
at=(--host "$address" -t 100ms)
check 'a token opens a server at a port' "$strobe" capture "${at[@]}" --token "$token" -o by-port.strobe
check 'its session is consistent, by a port' balanced by-port.strobe
check 'the environment may hold the token' env STROBE_TOKEN="$token" "$strobe" capture "${at[@]}" -f -o by-port.strobe
is 'a server at a port refuses without its token' 'Authorization: Bearer' "${at[@]}" -o x.strobe
is 'a server at a port refuses another token' 'token' "${at[@]}" --token "${token//[0-9]/x}" -o x.strobe

# ---- an app of the device

echo 'of another' >device/props/debug.strobe.start
capture=("$strobe" capture -a com.example.app)
check 'an app is restarted and captured' "${capture[@]}" --restart -t 300ms -o start.perfetto-trace
check 'its session is consistent' balanced start.strobe
check 'its session has the functions of the app' shows start.strobe draw_frame
check 'the device is as it was' left_as_it_was

# The traces of the device's system: by perfetto, by atrace, by none.
no_trace_is_left() {
    ! find device/data -type f | grep . && left_as_it_was
}
check 'without perfetto and atrace the capture of a device goes on' \
    says_once 'there is no program perfetto or atrace on the device' \
    "${capture[@]}" -t 100ms --system sched -o no.strobe
mkdir -p device/data/misc/perfetto-traces device/data/local/tmp
cat >device/bin/atrace <<'SH'
#!/bin/bash
echo "atrace $*" >>calls
if [[ $1 == --async_start ]]; then
    echo "${@:4}" >categories
elif [[ $1 == --async_stop && ${2:-} == -o ]]; then
    printf 'TRACE: of %s\r\n\0' "$(<categories)" >"$3"
fi
SH
chmod +x device/bin/atrace
check "the device's system is traced by atrace" "${capture[@]}" -t 100ms --system sched,gfx -o at.strobe
check 'each byte of its file is there' cmp <(printf 'TRACE: of sched gfx\r\n\0') at.system.atrace
check 'nothing is left of it on the device' no_trace_is_left
ln -s "$work/perfetto.sh" device/bin/perfetto
check "the device's system is traced by perfetto" "${capture[@]}" -s "$serial" -t 100ms --system sched,gfx -o pf.strobe
check 'its file is beside the session' grep -qx 'a trace of sched gfx' pf.system.perfetto-trace
check 'nothing is left of it on the device' no_trace_is_left
check "the device's system is traced, for a Perfetto trace" \
    "${capture[@]}" -t 100ms --system sched,gfx -o one.perfetto-trace
check 'one file has both traces' cmp one.perfetto-trace <(
    "$B/strobe" convert -o - --format perfetto one.strobe && echo 'a trace of sched gfx')
check 'no second file is left' test ! -e one.system.perfetto-trace
check "the device's system is traced, for a trace of another format" \
    "${capture[@]}" -t 100ms --system sched,gfx -o two.json
check "the system's trace is beside it" grep -qx 'a trace of sched gfx' two.system.perfetto-trace
: >device/calls
check "an app is restarted with the device's system traced" \
    "${capture[@]}" --restart -t 100ms --system sched -o restarted.strobe
check 'the capture begins when the trace of the system runs' grep -q '^perfetto --background-wait' device/calls
check 'the trace of the system shows the start of the app' \
    awk '/^perfetto/ { begun = 1 } /^am start/ { exit !begun }' device/calls
check 'without the right the capture of a device goes on' says_once 'perfetto: Permission denied: traced' \
    "${capture[@]}" -t 100ms --system forbidden -o denied.strobe -f
check 'a capture that cannot begin ends the trace' refused 2 'interval=1' \
    "${capture[@]}" -t 100ms --system sched --start interval=1 -o x.strobe
check 'it does not run on the device any more' no_trace_runs device
check 'nothing is left of it on the device' no_trace_is_left
check 'the app was ended first' grep -q 'am force-stop com.example.app' device/calls
pid=$(<device/pids/com.example.app)
check 'an app whose capture has ended is captured again' "${capture[@]}" -t 300ms -o again.strobe
check 'its second session is consistent' balanced again.strobe
check 'its second session has the functions of the app' shows again.strobe draw_frame
kill "$pid"

mv device/start start.works
printf '#!/bin/sh\nexit 1\n' >device/start
chmod +x device/start
check 'an app that does not start is one line' refused 2 'does not run' \
    "${capture[@]}" --restart --wait 300ms -t 1ms -o not-started.strobe
printf '#!/bin/sh\nsleep 100 </dev/null >/dev/null 2>&1 &\necho $!\n' >device/start
check 'an app that starts without a server is one line' refused 2 'no control server answers' \
    "${capture[@]}" --restart --wait 300ms -t 1ms -o not-served.strobe
check 'the device is as it was, after failed starts' left_as_it_was
kill "$(<device/pids/com.example.app)"
mv start.works device/start

# begin_app: starts the app by itself.
begin_app() {
    ./droid "$work/libstrobe.so" "$work/$1" &
    begun+=" $!"
    echo $! >device/pids/com.example.app
}
begin_app running.strobe
check 'a running app is captured' "${capture[@]}" -t 300ms -o running-app.perfetto-trace
check 'the part of a capture is consistent' balanced running-app.strobe
check 'the app was not ended' kill -0 "$(<device/pids/com.example.app)"
check 'the device is as it was, after a capture' left_as_it_was

(sleep 0.8; kill -9 "$(<device/pids/com.example.app)") &
check 'an app that dies' refused 2 'no control server answers' "${capture[@]}" -t 1200ms -o dies.strobe
check 'the device is as it was, after the end of the app' left_as_it_was
check 'no part of a session is left' test ! -e dies.strobe

begin_app cut.strobe
(
    until adb forward --list | grep -q .; do sleep 0.05; done
    sleep 0.5
    : >device/cut
) &
check 'a device that is cut off' refused 2 '' "${capture[@]}" -t 1200ms -o cut-off.strobe
check 'no part of a session is left, after a cut' test ! -e cut-off.strobe
adb connect "$(<device/serial)" >adb.log
check 'a file that cannot grow' refused 2 'File too large' \
    bash -c 'ulimit -f 64; exec "$@"' - "${capture[@]}" -t 1ms -o big.strobe
check 'the device is as it was, after a full disk' left_as_it_was
rm device/pids/com.example.app
timeout -s INT 1 "${capture[@]}" --wait 20s -o never.strobe 2>never.err
check 'an interrupt ends the wait for an app' test $? == 124 -a ! -s never.err
check 'the device is as it was, after an interrupt' left_as_it_was

begin_device second
on 'two devices' 'more than one device' -a com.example.app
is 'a device that is not there' "device 'nowhere' not found" -a com.example.app -s nowhere -o x.strobe
adb disconnect "$serial" >adb.log
check 'no adb' refused 2 'apt install adb' env PATH="$work/empty" "$strobe" capture -a com.example.app -o x.strobe

end_suite
