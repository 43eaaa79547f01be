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


def serve_and_sleep_once():
    """Do units of a study; sleep when a tree is added for the eleventh time, if no process has done so before."""
    from billhook.study import _forests, _unit_process

    add_tree = _forests.add_tree
    calls = []

    def add_and_sleep(*arguments):
        add_tree(*arguments)
        calls.append(1)
        mark = os.environ["BILLHOOK_SLEPT"]
        if len(calls) == 11 and not os.path.exists(mark):
            open(mark, "w").close()
            time.sleep(3600.0)

    _forests.add_tree = add_and_sleep
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
