# Devices for suites of `strobe capture`: stand-ins (device.py) that the genuine adb reaches. A suite sources this file
# after tests/support/suite.sh, from the root of the tree. It has then a server of adb of its own, which ends with it.
# Processes whose ids are in `begun`, the booted machine, and apps of devices, end with the suite, too.
device_source=$PWD/tests/capture
export ANDROID_ADB_SERVER_PORT=$((20000 + RANDOM % 10000)) HOME=$work TMPDIR=$work
begun= machine=
trap 'stop_all; rm -rf "$work"' EXIT

stop_all() {
    adb kill-server 2>/dev/null
    disown -a
    [[ -z $begun ]] || kill -9 $begun 2>/dev/null
    [[ -z $machine ]] || pkill -KILL -s "$machine"
    cat "$work"/*/pids/* "$work"/{,*/}perfetto-pids 2>/dev/null | xargs -r kill -9 2>/dev/null
}

# make_device FOLDER: fills the folder of a device that has three apps.
make_device() {
    mkdir -p "$1"/{bin,props,pids}
    for command in id pm run-as pidof cmd am getprop setprop; do
        cp "$device_source/commands" "$1/bin/$command"
    done
    printf 'com.example.app debuggable\ncom.example.released\ncom.example.plain debuggable\n' >"$1/packages"
    : >"$1/calls"
}

# begin_device NAME OPTIONS...: makes a device in the folder $work/NAME, and connects adb to it. Sets serial.
begin_device() {
    local device=$work/$1
    make_device "$device"
    mkfifo "$device/port"
    "$device_source/device.py" "$device" "${@:2}" >"$device/port" 2>"$device/log" &
    begun+=" $!"
    read -r port <"$device/port"
    serial=127.0.0.1:$port
    echo "$serial" >"$device/serial"
    adb connect "$serial" >"$device/connected" 2>&1
}

# boot_device ROOT: boots a machine (ci/boot) with the root directory ROOT, which has a device in ROOT/device, and
# /bin/bash and python3.11. ROOT/begin, when it is there, runs first. Connects adb to the device, and sets serial and
# machine.
boot_device() {
    local port
    port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
    cp "$device_source/device.py" "$1/device.py"
    FORWARD=$port setsid ci/boot "$1" /bin/sh -c "
        /bin/busybox --install -s /bin
        test ! -x /begin || /begin
        python3.11 /device.py /device --port $port" >"$work/boot.log" 2>&1 &
    machine=$!
    serial=127.0.0.1:$port
    for ((tries = 0; tries < 240; tries++)); do
        kill -0 "$machine" 2>/dev/null || break
        adb connect "$serial" 2>&1 | grep -q '^connected' && adb -s "$serial" shell true 2>/dev/null && return
        adb disconnect "$serial" >/dev/null 2>&1
        sleep 0.5
    done
    cat "$work/boot.log"
    return 1
}

# on_device COMMAND: runs the command in the folder of the device: the one in $work/device, or the booted one. The shell
# service of adb's first protocol transmits no exit status, so it is added as the last line of the output.
on_device() {
    local out
    if [[ -z $machine ]]; then
        (cd "$work/device" && PATH=$PWD/bin:$PATH bash -c "$1")
        return
    fi
    out=$(adb -s "$serial" shell "($1); echo; echo \$?" </dev/null)
    printf %s "${out%$'\n'*}"
    return "${out##*$'\n'}"
}

# left_as_it_was: no port is forwarded, and the device's property has its value of before, `of another`.
left_as_it_was() {
    adb forward --list >"$work/forwards" && ! grep . "$work/forwards" &&
        [[ $(on_device 'cat props/debug.strobe.start') == "of another" ]]
}

# balanced SESSION: the accounting of the session is consistent, according to its report.
balanced() {
    "$B/strobe" report --json "$1" >"$work/report.json" && grep -q '"balanced": true' "$work/report.json"
}

# shows SESSION NAME: the report has that function.
shows() {
    "$B/strobe" report "$1" >"$work/report.txt" && grep -qF "$2" "$work/report.txt"
}
