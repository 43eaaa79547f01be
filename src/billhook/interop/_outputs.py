"""Models that predict several outputs at once, each of which is a forest of its own."""


class SeveralOutputsError(ValueError):
    """A model has several outputs, and none was chosen.

    Attributes
    ----------
    n_outputs : int
    """

    def __init__(self, what: str, n_outputs: int) -> None:
        super().__init__(
            f"{what} has {n_outputs} outputs, and a forest has one: choose it with output=0 to {n_outputs - 1} "
            "(of a file, `billhook convert --output 0`), or read all of a fitted model with billhook.as_forests"
        )
        self.n_outputs = n_outputs
