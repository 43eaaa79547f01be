"""Whether memory ran out: compiled code and the system say it in their own ways."""

import errno

# What others than Python raise: C++ libraries, threads whose stacks do not fit, and modules that are loaded.
SIGNS = (
    "bad_alloc",
    "bad allocation",
    "can't start new thread",
    "Cannot allocate memory",
    "failed to map segment",
    "cannot map zero-fill pages",
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error is, or comes of, too little memory.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("can't start new thread")), is_out_of_memory(RuntimeError("no"))
    (True, False)
    """
    while error is not None:
        if isinstance(error, MemoryError) or _says_so(error):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _says_so(error: BaseException) -> bool:
    """Whether an error of others says it; ours, and those of files, may quote a name that has such words."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    is_of_others = type(error).__module__.partition(".")[0] not in ("builtins", "billhook")
    may_be = is_of_others or isinstance(error, OSError | RuntimeError | ImportError)
    return may_be and any(sign in str(error) for sign in SIGNS)
