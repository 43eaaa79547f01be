"""What tests have the workers of a cluster do: they import it from here."""

import os
import signal
import threading
import time


def n_held():
    from billhook.cluster import _distributed_rows

    return len(_distributed_rows.HELD)


def double(data, item):
    return data["factor"] * item


def kill_once(data, item):
    """Die of the item 3 when it is tried for the first time."""
    if item == 3 and not os.path.exists(data):
        open(data, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return -item


def refuse(data, item):
    raise ValueError(f"{data} cannot do {item}")


def wait_for_file(data, item):
    while item and not os.path.exists(data):
        time.sleep(0.01)
    return item


def read_with_pandas(path):
    import pandas

    table = pandas.read_parquet(path)
    return table[list("abcde")].to_numpy(), table["kind"].to_numpy()


def hang(run="any"):
    """Say in which run (1, 2, ...) this process hangs, and do so; see `hanging` in the tests of studies."""
    open(os.path.join(os.environ["BILLHOOK_HANGING"], f"{os.getpid()}.{run}"), "w").close()
    time.sleep(3600.0)


def serve_and_hang(module, name):
    """Do units of a study, with a function that never returns."""
    import importlib

    from billhook.study import _unit_process

    setattr(importlib.import_module(module), name, lambda *_, **__: hang())
    _unit_process.serve()


def serve_and_hang_once():
    """Do units of a study; hang when a tree is added for the eleventh time, if no process has done so before."""
    from billhook.study import _forests, _unit_process

    add_tree = _forests.add_tree
    calls = []

    def add_and_hang(*arguments):
        add_tree(*arguments)
        calls.append(1)
        if len(calls) == 11 and not os.listdir(os.environ["BILLHOOK_HANGING"]):
            hang(run=2)

    _forests.add_tree = add_and_hang
    _unit_process.serve()


class LockedError(Exception):
    """Cannot be pickled."""

    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


class PickyError(Exception):
    """Can be pickled, but not read again."""

    def __init__(self, text, more):
        super().__init__(text + more)


def serve_and_fail(error):
    """Answer each unit of a study with an error."""
    from billhook.study import _unit_process

    def fail(*_):
        raise error

    _unit_process.run_unit = fail
    _unit_process.serve()
