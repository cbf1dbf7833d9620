"""An asyncio server and its clients in one process, over TCP:  event_loop.py REQUESTS"""
import asyncio
import hashlib
import sys

requests = int(sys.argv[1])


def answer(line):
    return hashlib.sha256(line * 50).hexdigest().encode() + b"\n"


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(answer(line))
        await writer.drain()
    writer.close()


async def ask(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    digest = hashlib.sha256()
    for k in range(requests):
        writer.write(b"client %d request %d\n" % (number, k))
        digest.update(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return number, digest.hexdigest()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for line in await asyncio.gather(*(ask(port, number) for number in range(4))):
        print(*line)
    server.close()

asyncio.run(main())
