"""Rows of a descent in parts, all in this process."""

from itertools import islice

import numpy as np

from billhook.refinement import LOSSES, DescentPartition, DistributedDescent, PartitionTask, Problem


class Here:
    """All parts in this process; every so often one is lost, and made anew from its rows and the table."""

    def __init__(self, forest, X, y, weight, loss, n_parts, loses_every=0):
        self.forest, self.loss, self.loses_every = forest, LOSSES[loss], loses_every
        self.rows = list(zip(*(np.array_split(a, n_parts) for a in (X, y, weight)), strict=True))
        self.parts = [DescentPartition(Problem(forest), *rows, self.loss) for rows in self.rows]
        self.n_asked = self.n_lost = 0

    def begin(self, layout, table):
        self.started = layout, table
        self.total(PartitionTask("restart", self.started))

    def total(self, task, anew=None):
        self.n_asked += 1
        answers = []
        for k, part in enumerate(self.parts):
            if self.loses_every and (self.n_asked + k) % self.loses_every == 0:
                self.parts[k] = DescentPartition(Problem(self.forest), *self.rows[k], self.loss)
                self.parts[k].restart(*self.started)
                answers.append(self.parts[k].do(anew or task))
                self.n_lost += 1
            else:
                answers.append(part.do(task))
        return tuple(map(sum, zip(*answers, strict=True)))

    def descent(self, problem, loss, l2, anchor):
        return DistributedDescent(problem, self, loss, l2, anchor)

    def follow(self, problem, number, stays, to):
        self.forest = to
        for part in self.parts:
            part.follow(problem.first, number, stays)


def refined_in_parts(forest, holder, loss, l2=1.0, n_passes=2):
    """Return the forest after so many passes over the rows that `holder` has."""
    problem = Problem(forest)
    table = problem.value * problem.weight_of_leaf
    anchor = table if forest.classes is None else np.zeros_like(table)
    *_, last = islice(DistributedDescent(problem, holder, LOSSES[loss], l2, anchor), n_passes + 1)
    return problem.refined(last.value, LOSSES[loss])
