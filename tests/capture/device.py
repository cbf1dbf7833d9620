#!/usr/bin/env python3
"""An Android device as adb sees it: speaks adb's transport protocol over TCP, for `adb connect 127.0.0.1:PORT`.

    device.py STATE [--port N] [--refuse | --silent]

Prints the port, which is one of 127.0.0.1; with --port, that port of all addresses. STATE is a folder that holds the device:

    bin/        the commands of its shell (pm, am, getprop, ...); run in STATE, with bin/ first in PATH
    cut         once this file exists, all connections are cut, and it is removed

Services: `shell:COMMAND` and `exec:COMMAND` run the command, and `localabstract:NAME` connects to that abstract socket of this machine.
--refuse: the device does not let this host in (adb calls it unauthorized). --silent: it never answers (offline).

The protocol is described in protocol.txt of packages/modules/adb (Android Open Source Project): messages with a header
of six little-endian words (command, two arguments, length and checksum of the data, the command's complement).
"""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time

VERSION, DATA_MAX = 0x01000001, 256 * 1024
HEADER = struct.Struct("<6I")
BANNER = b"device::ro.product.name=strobe;ro.product.model=stand_in;ro.product.device=stand_in;features=\0"


def word(name):
    return int.from_bytes(name, "little")


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data


class Stream:
    """One service that the host has opened. The host acknowledges each part before the next one is sent."""

    def __init__(self, transport, ours, theirs):
        self.transport, self.ours, self.theirs = transport, ours, theirs
        self.ready = threading.Semaphore(1)
        self.closed = threading.Event()
        self.write = lambda data: None
        self.end = lambda: None

    def send(self, data):
        for at in range(0, len(data), DATA_MAX):
            self.ready.acquire()
            if self.closed.is_set():
                raise ConnectionError
            self.transport.send(b"WRTE", self.ours, self.theirs, data[at:at + DATA_MAX])

    def close(self):
        if not self.closed.is_set():
            self.closed.set()
            self.transport.send(b"CLSE", self.ours, self.theirs)
        self.ready.release()


class Transport:
    """A connection of the host's adb."""

    def __init__(self, connection, device):
        self.connection, self.device = connection, device
        self.lock = threading.Lock()
        self.streams = {}
        self.last = 0

    def send(self, name, first, second, data=b""):
        command = word(name)
        head = HEADER.pack(command, first, second, len(data), sum(data) & 0xffffffff, command ^ 0xffffffff)
        with self.lock:
            self.connection.sendall(head + data)

    def serve(self):
        try:
            while True:
                command, first, second, size, _, _ = HEADER.unpack(receive(self.connection, HEADER.size))
                self.take(command.to_bytes(4, "little"), first, second, receive(self.connection, size))
        except OSError:
            self.connection.close()
            for stream in list(self.streams.values()):
                stream.closed.set()
                stream.ready.release()
                stream.end()

    def take(self, name, first, second, data):
        stream = self.streams.get(second)
        if name == b"CNXN":
            if self.device.refuse:
                self.send(b"AUTH", 1, 0, os.urandom(20))
            elif not self.device.silent:
                self.send(b"CNXN", VERSION, DATA_MAX, BANNER)
        elif name == b"AUTH" and first == 2:  # a signature; after a public key (3), a device asks its user
            self.send(b"AUTH", 1, 0, os.urandom(20))
        elif name == b"OPEN":
            self.open(first, data.rstrip(b"\0").decode())
        elif name == b"OKAY" and stream:
            stream.ready.release()
        elif name == b"WRTE" and stream:
            stream.write(data)
            self.send(b"OKAY", stream.ours, stream.theirs)
        elif name == b"CLSE" and stream:
            stream.closed.set()
            stream.ready.release()
            stream.end()
            del self.streams[second]

    def open(self, theirs, service):
        self.last += 1
        stream = Stream(self, self.last, theirs)
        kind, _, rest = service.partition(":")
        begin = {"shell": self.device.run_shell, "exec": self.device.run_shell, "localabstract": self.device.connect}.get(kind)
        reader = begin(rest, stream) if begin else None
        if not reader:
            self.send(b"CLSE", 0, theirs)
            return
        self.streams[stream.ours] = stream
        self.send(b"OKAY", stream.ours, theirs)
        threading.Thread(target=pump, args=(reader, stream), daemon=True).start()


def pump(read, stream):
    try:
        while data := read():
            stream.send(data)
        stream.close()
    except OSError:
        stream.end()


class Device:
    def __init__(self, state, options):
        self.state = state
        self.refuse, self.silent = "--refuse" in options, "--silent" in options

    def run_shell(self, command, stream):
        path = f"{self.state / 'bin'}:{os.environ['PATH']}"
        child = subprocess.Popen(["sh", "-c", command], cwd=self.state, env=os.environ | {"PATH": path},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        stream.end = child.kill

        def read():
            data = os.read(child.stdout.fileno(), 65536)
            if not data:
                child.wait()
            return data
        return read

    def connect(self, name, stream):
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(b"\0" + name.encode())
        except OSError:
            return None
        stream.write = peer.sendall

        def end():
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        stream.end = end
        return lambda: peer.recv(65536)


def cut_on_demand(device, transports):
    while True:
        time.sleep(0.02)
        if (device.state / "cut").exists():
            (device.state / "cut").unlink()
            for transport in transports:
                try:
                    transport.connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def main():
    device = Device(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    address = ("127.0.0.1", 0)
    if "--port" in sys.argv:
        address = ("", int(sys.argv[sys.argv.index("--port") + 1]))
    listener = socket.create_server(address)
    print(listener.getsockname()[1], flush=True)
    transports = []
    threading.Thread(target=cut_on_demand, args=(device, transports), daemon=True).start()
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transports.append(Transport(connection, device))
        threading.Thread(target=transports[-1].serve, daemon=True).start()


main()
