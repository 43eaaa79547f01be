"""Whether memory ran out: compiled code and the system say it in their own ways."""

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
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False
