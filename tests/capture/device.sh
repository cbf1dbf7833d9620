# Devices for suites of `strobe capture`: stand-ins (device.py) that the genuine adb reaches. A suite sources this file
# after tests/support/suite.sh, from the root of the tree. It has then a server of adb of its own, which ends with it.
# Processes whose ids are in `begun`, and apps of devices, end with the suite, too.
device_source=$PWD/tests/capture
export ANDROID_ADB_SERVER_PORT=$((20000 + RANDOM % 10000)) HOME=$work TMPDIR=$work
begun=
trap 'stop_all; rm -rf "$work"' EXIT

stop_all() {
    adb kill-server 2>/dev/null
    disown -a
    [[ -z $begun ]] || kill -9 $begun 2>/dev/null
    cat "$work"/*/pids/* "$work"/{,*/}perfetto-pids 2>/dev/null | xargs -r kill -9 2>/dev/null
}

# begin_device NAME OPTIONS...: makes a device in the folder $work/NAME, and connects adb to it. Sets serial.
begin_device() {
    local device=$work/$1
    mkdir -p "$device"/{bin,props,pids}
    for command in id pm run-as pidof cmd am getprop setprop; do
        ln -sf "$device_source/commands" "$device/bin/$command"
    done
    printf 'com.example.app debuggable\ncom.example.released\ncom.example.plain debuggable\n' >"$device/packages"
    : >"$device/calls"
    mkfifo "$device/port"
    "$device_source/device.py" "$device" "${@:2}" >"$device/port" 2>"$device/log" &
    begun+=" $!"
    read -r port <"$device/port"
    serial=127.0.0.1:$port
    echo "$serial" >"$device/serial"
    adb connect "$serial" >"$device/connected" 2>&1
}

# left_as_it_was: no port is forwarded, and the device's property has its value of before, `of another`.
left_as_it_was() {
    adb forward --list >"$work/forwards" && ! grep . "$work/forwards" &&
        [[ $(<"$work/device/props/debug.strobe.start") == "of another" ]]
}

# balanced SESSION: the accounting of the session is consistent, according to its report.
balanced() {
    "$B/strobe" report --json "$1" >"$work/report.json" && grep -q '"balanced": true' "$work/report.json"
}

# shows SESSION NAME: the report has that function.
shows() {
    "$B/strobe" report "$1" >"$work/report.txt" && grep -qF "$2" "$work/report.txt"
}
