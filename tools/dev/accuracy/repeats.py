"""Differences between runs of equal layouts: no model can predict better than that."""
import math
import random
from dataclasses import dataclass

from .score import distinct_layouts, mean, spearman

DRAWS, SEED = 400, 1


def repeated(rows):
    """Runs of one group with equal inputs, where there are several."""
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return [runs for members in groups.values() for runs in distinct_layouts(members).values() if len(runs) > 1]


def values(rows, attribute):
    """Known values of `attribute` of each repeated layout with at least two."""
    known = [[getattr(row, attribute) for row in runs if getattr(row, attribute)] for runs in repeated(rows)]
    return [runs for runs in known if len(runs) > 1]


def spread(runs):
    """Standard deviation of the logarithm within layouts, pooled."""
    squares = sum((math.log(value) - mean([math.log(each) for each in group])) ** 2 for group in runs for value in group)
    return math.sqrt(squares / sum(len(group) - 1 for group in runs))


def residuals(runs):
    """For each repeated layout: logarithms of its runs' times relative to their mean, widened since n runs show (n - 1) / n of the
    variance."""
    pools = []
    for group in runs:
        center = mean([math.log(value) for value in group])
        scale = math.sqrt(len(group) / (len(group) - 1))
        pools.append([scale * (math.log(value) - center) for value in group])
    return pools


@dataclass
class Reachable:
    """Figures of a model without error: distributions over the samples, for the worst group in each."""

    spearman: list
    regret: list


def reachable(choices, runs):
    """Bootstrap: each sample takes as many of the repeated layouts as there are, with replacement, and gives every run of the groups
    one of their residuals. A model without error ranks by the times without it. The measured times stand for the true ones, whose
    distances they exaggerate: the result is more than can be reached."""
    draw, pools = random.Random(SEED), residuals(runs)
    result = Reachable([], [])
    for _ in range(DRAWS):
        pool = [value for _ in pools for value in draw.choice(pools)]
        spearmans, regrets = [], []
        for choice in choices:
            times = [time * math.exp(mean([draw.choice(pool) for _ in range(count)])) for time, count in zip(choice.times, choice.runs)]
            regrets.append(times[choice.times.index(min(choice.times))] / min(times) - 1)
            if choice.spearman is not None:
                spearmans.append(spearman(choice.times, times))
        result.regret.append(max(regrets))
        if spearmans:
            result.spearman.append(min(spearmans))
    return result


def perfect_memory(runs, by):
    """(mean error, share under-predicted by more than `by`) of a model that says the mean of each layout, all residuals alike."""
    errors = [math.exp(-value) - 1 for pool in residuals(runs) for value in pool]
    return mean([abs(error) for error in errors]), mean([1.0 if error < -by else 0.0 for error in errors])
