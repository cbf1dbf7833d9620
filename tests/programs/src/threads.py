"""Eight threads that hash, sort and hand results over a queue:  threads.py ROUNDS"""
import hashlib
import queue
import sys
import threading
import zlib

rounds = int(sys.argv[1])
results = queue.Queue()


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def work(number):
    digest = hashlib.sha256()
    steps = 0
    for k in range(rounds):
        block = b"%d %d " % (number, k) * 1000
        digest.update(block)
        digest.update(b"%d" % zlib.crc32(block))
        steps += sum(collatz(n) for n in range(1 + k % 7, 100))
        digest.update(str(sorted(block[:200])).encode())
    results.put((number, steps, digest.hexdigest()))


threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for line in sorted(results.get() for _ in threads):
    print(*line)
