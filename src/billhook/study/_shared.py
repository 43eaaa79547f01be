from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Shared(Generic[Result]):
    """Something that several runs need: made when the first of them asks for it, and tried once only.

    Parameters
    ----------
    make : function
    while_made : function
        Returns a context in which it is made.
    """

    def __init__(self, make: Callable[[], Result], while_made: Callable[[], AbstractContextManager[None]]) -> None:
        self._make, self._while_made = make, while_made
        self._outcome: list[Result | Exception] = []

    def get(self) -> Result:
        """Return it, or raise the error that making it ended with."""
        if not self._outcome:
            try:
                with self._while_made():
                    self._outcome.append(self._make())
            except Exception as error:  # not to be tried again for every run
                self._outcome.append(error)
        outcome = self._outcome[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
