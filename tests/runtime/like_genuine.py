"""Plays scenarios in the genuine runtime and in a fake, in turn, and compares the medians of their scores over nine
rounds. They are judged once.

    like_genuine.py STROBE GENUINE FAKE SCENARIO...     prints `ok NAME` or `FAIL NAME: ...` for each
"""
import json
import statistics
import subprocess
import sys

WITHIN = 0.02
SCORES = 'agreement_resolved', 'blocked_error', 'waker_recall'
ROUNDS = 9

strobe, *runtimes = sys.argv[1:4]


def play(scenario, runtime):
    command = [strobe, 'run', scenario, '--mode', 'real', '--runtime', runtime, '--seed', '3', '--json']
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def medians(scores, score):
    return [statistics.median(s[score] for s in scores[r]) for r in runtimes]


def apart(scores):
    return [s for s in SCORES if abs(medians(scores, s)[0] - medians(scores, s)[1]) > WITHIN]


def compare(scenario):
    scores = {runtime: [] for runtime in runtimes}
    for _ in range(ROUNDS):
        for runtime in runtimes:
            scores[runtime].append(play(scenario, runtime))
    said = ', '.join('%s %.3f and %.3f' % (s, *medians(scores, s)) for s in SCORES)
    name = f'{scenario.rsplit("/", 1)[-1]} in {runtimes[0]} and {runtimes[1]}, {ROUNDS} rounds'
    print(f'FAIL {name}: {said}, expected within {WITHIN}' if apart(scores) else f'ok {name}: {said}')


for path in sys.argv[4:]:
    compare(path)
