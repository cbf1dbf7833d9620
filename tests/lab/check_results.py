"""Checks of the lab's output, for tests/lab/run.sh: prints the faults and exits with 1, or prints nothing.

usage: check_results.py CHECK FILE [FIRST_SEED LAST_SEED]
"""
import json
import re
import sys
from html.parser import HTMLParser

check, path = sys.argv[1], sys.argv[2]
faults = []
with open(path) as opened:
    text = opened.read()

# Required members, which must never be renamed.
MEMBERS = {
    "scenario": str, "policy": str, "seed": int, "agreement": (int, float), "agreement_resolved": (int, float),
    "overhead": (int, float), "waker_precision": (int, float), "waker_recall": (int, float), "false_merges": int,
    "lost": int, "bytes": int,
}
SHARES = "agreement agreement_resolved waker_precision waker_recall recall precision".split()


def check_result(result):
    for name, kind in MEMBERS.items():
        if not isinstance(result.get(name), kind):
            faults.append(f"{name} is {result.get(name)!r}")
    for name in SHARES:
        if not 0 <= result.get(name, -1) <= 1:
            faults.append(f"{name} is no share: {result.get(name)}")
    if result["agreement_resolved"] < result["agreement"]:
        faults.append("resolved agreement is less than exact")
    if not result["methods"] or not result["threads"]:
        faults.append("it has no methods, or no threads")
    if result["violation"]:
        faults.append(f"an invariant is broken: {result['violation']}")


def result_of_a_trial():
    check_result(json.loads(text))


def results_of_a_swarm():
    results = [json.loads(line) for line in text.splitlines()]
    for result in results:
        check_result(result)
    seeds = [result["seed"] for result in results]
    if seeds != list(range(int(sys.argv[3]), int(sys.argv[4]) + 1)):
        faults.append(f"seeds are {seeds}")


def same_result():
    with open(sys.argv[3]) as other:
        line = json.loads(other.read())
    for name, value in json.loads(text).items():
        if name not in ("methods", "threads") and line[name] != value:
            faults.append(f"{name}: {value} and {line[name]}")


def summaries():
    cells = json.loads(text)
    if [(c["scenario"], c["policy"]) for c in cells] != [("abnormal_stack", "strobe"), ("abnormal_stack", "ideal")]:
        faults.append(f"cells are {[(c['scenario'], c['policy']) for c in cells]}")
    for cell in cells:
        if cell.get("seeds") != 3:
            faults.append(f"seeds: {cell.get('seeds')}")


class Page(HTMLParser):
    """Tags are closed in their order; nothing is loaded."""
    VOID = {"meta", "link", "br", "hr", "img", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.count = [], {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster", "action") or (name.endswith("href") and value[:1] != "#"):
                faults.append(f"<{tag} {name}={value!r}> loads something")
        if tag in ("link", "iframe", "object", "embed"):
            faults.append(f"<{tag}> loads something")
        if tag not in self.VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            faults.append(f"</{tag}> at {self.getpos()} closes what is not open")


def page_stands_alone():
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        faults.append(f"not closed: {page.open}")
    if page.count.get("svg", 0) < 3 or not page.count.get("table"):
        faults.append(f"it shows too little: {page.count}")
    loads = re.findall(r"url\(\s*['\"]?(?!#)[^)]*|@import[^;]*|https?://(?!www\.w3\.org/)[^\s\"'<]*", text)
    faults.extend(f"it loads {load}" for load in loads)
    if not text.startswith("<!DOCTYPE html>") or "\ufffd" in text or re.search(r"\b(nan|inf)\b", text):
        faults.append("it has no doctype, or a number that is none")


globals()[check]()
for fault in faults[:5]:
    print(fault)
sys.exit(bool(faults))
