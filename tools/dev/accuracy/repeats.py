"""What runs of equal layouts differ by: no model can predict better than that."""
import math
import random

from .score import distinct_layouts, mean, quantile, spearman

DRAWS, SEED = 400, 1


def repeated(rows):
    """Runs of one group with equal inputs, where there are several."""
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return [runs for members in groups.values() for runs in distinct_layouts(members).values() if len(runs) > 1]


def values(rows, attribute):
    """Of each repeated layout."""
    known = [[getattr(row, attribute) for row in runs if getattr(row, attribute)] for runs in repeated(rows)]
    return [runs for runs in known if len(runs) > 1]


def spread(runs):
    """Standard deviation of the logarithm within layouts, pooled."""
    squares = sum((math.log(value) - mean([math.log(each) for each in group])) ** 2 for group in runs for value in group)
    return math.sqrt(squares / sum(len(group) - 1 for group in runs))


def perfect_spearman(times, sigma):
    """(mean, 5th percentile) of the rank correlation between true times and runs that scatter around them by sigma. The measured
    times stand for the true ones, which they exaggerate the distances of."""
    draw = random.Random(SEED)
    found = [spearman(times, [time * math.exp(draw.gauss(0, sigma)) for time in times]) for _ in range(DRAWS)]
    return mean(found), quantile(found, 0.05)


def best_constant(runs, by):
    """(mean error, share under-predicted by more than `by`) of the best single prediction for each repeated layout."""
    errors = []
    for group in runs:
        best = min(group, key=lambda value: mean([abs(value / each - 1) for each in group]))
        errors += [best / each - 1 for each in group]
    return mean([abs(error) for error in errors]), mean([1.0 if error < -by else 0.0 for error in errors])
