#!/usr/bin/env python3
"""Collects the figures of benchmark runs, and draws them in a page with a plot for each figure.

    history.py append HISTORY COMMIT BENCH.json...     adds a line of JSON to HISTORY
    history.py page HISTORY OUT UPLOT                  writes OUT, a page without references to other files

`make bench` appends, `make history` draws. A line of HISTORY is

    {"time": SECONDS, "commit": TEXT, "machine": TEXT,
     "figures": [{"what": TEXT, "unit": TEXT, "value": NUMBER, "target": NUMBER or null}, ...]}

UPLOT is the directory of uPlot's files (ci/npm-files). Exit status 2 for bad use or bad input; OUT then stays as it
was."""
import collections
import json
import math
import os
import sys
import time

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Strobe: history of benchmarks</title>
<style>%(style)s
body { font: 15px sans-serif; margin: 1.5em; }
#plots { display: flex; flex-wrap: wrap; gap: 1.5em; }
</style></head><body>
<h1>History of benchmarks</h1>
<p>%(runs)d runs, %(count)d figures. A dashed line is the target, which a figure should not exceed. Times are of several
machines; compare a figure only with those of the same machine.</p>
<div id="plots"></div>
<script>%(script)s</script>
<script type="application/json" id="data">%(data)s</script>
<script>
const { runs, figures } = JSON.parse(document.getElementById("data").textContent);
for (const f of figures) {
    const series = [
        { value: (u, t, s, i) => i == null ? "" : runs[f.runs[i]].join(", ") },
        { label: f.unit || "value", stroke: "#1658a8", width: 2, points: { show: true, size: 6 } },
        { label: "target", stroke: "#a04020", dash: [6, 4] },
    ];
    new uPlot({ title: f.what, width: 520, height: 220, series },
              [f.times, f.values, f.targets], document.getElementById("plots"));
}
</script></body></html>
"""


class BadInput(Exception):
    """The text has one line: file, place, what was expected."""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def parse(text, where):
    try:
        return json.loads(text)
    except ValueError as e:
        raise BadInput(f"{where}: expected JSON: {e}") from e


def read_text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as e:
        raise BadInput(f"{path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise BadInput(f"{path}: expected text: {e.reason}") from e


def figures_of(path):
    """Returns the machine and the measured figures of a file that a benchmark program wrote (bench/table.c)."""
    table = parse(read_text(path), path)
    name = os.path.basename(path).removesuffix(".json")
    try:
        machine = table["machine"]
        figures = [{"what": f"{name}: {row['what'].strip()}", "unit": row["unit"], "value": row["measured"],
                    "target": row["target"] if row["ratio"] is None else None}
                   for row in table["rows"] if is_number(row["measured"])]
    except (KeyError, TypeError, AttributeError) as e:
        raise BadInput(f"{path}: expected the table of a benchmark program: {e!r}") from e
    return machine, figures


def append(history, commit, paths):
    machine, figures = "", []
    for path in paths:
        machine, more = figures_of(path)
        figures += more
    line = {"time": int(time.time()), "commit": commit, "machine": machine, "figures": figures}
    os.makedirs(os.path.dirname(history) or ".", exist_ok=True)
    with open(history, "a") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{len(figures)} figures appended to {history}")


def check_line(line, where):
    """Raises BadInput unless the line has the form above."""
    def expect(good, what):
        if not good:
            raise BadInput(f"{where}: expected {what}")

    expect(isinstance(line, dict), "an object")
    expect(is_number(line.get("time")), "`time`, in seconds")
    expect(isinstance(line.get("commit"), str) and isinstance(line.get("machine"), str), "`commit` and `machine`")
    expect(isinstance(line.get("figures"), list), "`figures`, a list")
    for figure in line["figures"]:
        expect(isinstance(figure, dict) and isinstance(figure.get("what"), str) and
               isinstance(figure.get("unit"), str), "figures with `what` and `unit`")
        expect(is_number(figure.get("value")), f"a number as value of `{figure['what']}`")
        expect(figure.get("target") is None or is_number(figure["target"]), f"a number as target of `{figure['what']}`")


def read_history(path):
    lines = []
    for number, text in enumerate(read_text(path).splitlines(), 1):
        line = parse(text, f"{path}:{number}")
        check_line(line, f"{path}:{number}")
        lines.append(line)
    if not lines:
        raise BadInput(f"{path}:1: expected a line of JSON from `make bench`")
    return sorted(lines, key=lambda line: line["time"])


def plots_of(lines):
    """Returns one plot for each figure, in the order in which figures first appear."""
    plots = collections.OrderedDict()
    for number, line in enumerate(lines):
        for figure in line["figures"]:
            key = figure["what"], figure["unit"]
            plot = plots.setdefault(key, {"what": key[0], "unit": key[1], "runs": [], "times": [], "values": [],
                                          "targets": []})
            plot["runs"].append(number)
            plot["times"].append(line["time"])
            plot["values"].append(figure["value"])
            plot["targets"].append(figure.get("target"))
    return list(plots.values())


def draw(history, out, uplot):
    lines = read_history(history)
    plots = plots_of(lines)
    runs = [[line["commit"], time.strftime("%Y-%m-%d %H:%M", time.gmtime(line["time"])), line["machine"]]
            for line in lines]
    data = json.dumps({"runs": runs, "figures": plots}).replace("<", "\\u003c")
    page = PAGE % {"style": read_text(os.path.join(uplot, "uPlot.min.css")),
                   "script": read_text(os.path.join(uplot, "uPlot.iife.min.js")),
                   "data": data, "runs": len(lines), "count": len(plots)}
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    with open(out + ".new", "w") as file:
        file.write(page)
    os.replace(out + ".new", out)
    print(f"{len(plots)} plots of {len(lines)} runs in {out}")


def main():
    words = sys.argv[1:]
    try:
        if len(words) >= 4 and words[0] == "append":
            append(words[1], words[2], words[3:])
        elif len(words) == 4 and words[0] == "page":
            draw(*words[1:])
        else:
            raise BadInput("expected `append HISTORY COMMIT BENCH.json...` or `page HISTORY OUT UPLOT`")
    except (BadInput, OSError) as e:
        print(f"history: {e}", file=sys.stderr)
        return 2
    return 0


sys.exit(main())
