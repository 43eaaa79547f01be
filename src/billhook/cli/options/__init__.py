"""What commands take, one module per sub-command; what they do is imported when they run.

So that `billhook --help` answers at once, nothing here imports numpy, scikit-learn or any other folder of Billhook.
"""

from billhook.cli.options._parser import parser_of_all

__all__ = ["parser_of_all"]
