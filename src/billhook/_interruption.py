"""Whether an error is Ctrl-C."""


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is, or comes of, an interruption: compiled code says it in its own way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
