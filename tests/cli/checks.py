"""Runs several checks in one process, because a start of Python takes longer than most of them."""
import contextlib
import io
import traceback


def run_checks(names, functions):
    """Prints a line for each named function of the dictionary: its name, a tab, and the end of what it printed."""
    for name in names:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                functions[name]()
            except Exception:
                traceback.print_exc(file=said)
        print(name, " ".join(said.getvalue().splitlines()[-3:]), sep="\t", flush=True)
