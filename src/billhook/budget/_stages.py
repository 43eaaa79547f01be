"""The stages between a grown ensemble and a packed model, with their scores: what the report shows of the winner."""

from collections.abc import Callable
from dataclasses import dataclass

from billhook.budget._compress import CompressedStages
from billhook.budget._space import CompressionConfig
from billhook.forest import Forest


@dataclass(frozen=True)
class Stage:
    """A stage between the grown ensemble and the packed model: its score on held-out rows, its bytes if packed."""

    name: str
    score: float
    nbytes: int | None
    detail: str


def scored_stages(
    stages: CompressedStages, compression: CompressionConfig, score: Callable[[Forest], float], packed_score: float
) -> tuple[Stage, ...]:
    """Return the stages of a model: `score` is that of a forest on codes, `packed_score` that of the model."""

    def stage(name: str, forest: Forest, more: str = "") -> Stage:
        return Stage(name, score(forest), None, f"{forest.n_trees:,} trees, {forest.n_leaves:,} leaves{more}")

    shown = [stage("grown", stages.grown)]
    if compression.l2 is not None:
        name = "merged" if stages.fitted.n_leaves < stages.grown.n_leaves else "refined"
        shown.append(stage(name, stages.fitted, ", splits chosen again" if compression.sweeps else ""))
    leaves = f"{compression.leaf_bits}-bit leaves"
    if compression.codebook:
        leaves += f", {compression.codebook} different"
    return (*shown, Stage("packed", packed_score, stages.packed.nbytes, leaves))
