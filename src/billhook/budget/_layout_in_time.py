"""The layout of the C project of a fit, by how many cycles a row may take."""

from dataclasses import replace
from subprocess import SubprocessError

from billhook.budget._fit import FitResult
from billhook.codegen import DoesNotFitError, LayoutChoice, TooSlowError, choose_layout


def in_time_of_rows(result: FitResult, target: str, max_cycles: int, reserve: int) -> FitResult:
    """Return the result with the smallest layout in which a row takes no more cycles, or else the fastest.

    What a long search found is not to be lost, whatever becomes of its programs.
    """
    too_slow = ""
    try:
        choice = choose_layout(
            result.packed, target=target, max_cycles=max_cycles, reserve=reserve, inputs="float", X=result.examples
        )
    except TooSlowError as error:
        choice, too_slow = error.fastest, str(error)
    except (DoesNotFitError, OSError, RuntimeError, SubprocessError) as error:
        choice, too_slow = LayoutChoice("compact"), f"no layout could be chosen by its cycles: {error}"
    report = replace(result.report, layout=choice.layout, layouts=choice.costs, too_slow=too_slow)
    return replace(result, report=report)
