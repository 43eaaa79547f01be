"""Any library's model to a Forest, and back."""

from billhook.interop._boosting_parameters import boosting_parameters
from billhook.interop._dispatch import as_forest, as_forests, to_estimator
from billhook.interop._export import save_onnx, save_treelite, to_onnx, to_treelite
from billhook.interop._files import read_file, read_outputs
from billhook.interop._in_bag import in_bag_mask
from billhook.interop._outputs import check_only_output

__all__ = [
    "as_forest",
    "as_forests",
    "boosting_parameters",
    "check_only_output",
    "in_bag_mask",
    "read_file",
    "read_outputs",
    "save_onnx",
    "save_treelite",
    "to_estimator",
    "to_onnx",
    "to_treelite",
]
