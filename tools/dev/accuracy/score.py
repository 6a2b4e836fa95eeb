"""Scores of the predictions of a table: errors of time and memory, order within groups, does it fit."""
import math
from dataclasses import dataclass, field


@dataclass
class Prediction:
    """One output row of `ppc-plan --evaluate`."""

    step_time_s: float = None
    fits: bool = None
    peak_memory_GiB: float = None
    error: str = ""
    cells: dict = field(default_factory=dict)
    simulated_s: float = None  # the step replayed event by event


@dataclass
class Choice:
    """A group of rows that differ in layout: what taking the first-ranked costs against the best measured."""

    group: str
    rows: int
    regret: float
    chosen: str
    best: str
    spearman: float = None  # None for groups below SPEARMAN_ROWS
    out_of_memory: bool = False  # the fastest row said to fit ran out of memory
    times: list = field(default_factory=list)  # measured, of each layout: the mean of its runs
    runs: list = field(default_factory=list)  # how many those are
    regret_of_simplest: float = 0.0  # regret of the simplest layout among those with indistinguishable predicted times


SPEARMAN_ROWS = 10
INDISTINCT = 0.02  # predicted times nearer to each other than this share are a tie (lib/CostModel/measured-errors.csv)


@dataclass
class Score:
    table: str
    rows: int = 0
    excluded: int = 0
    failed: list = field(default_factory=list)  # rows that the tool refused
    errors: list = field(default_factory=list)  # (signed relative error, row, prediction) of step time
    choices: list = field(default_factory=list)
    fit_right: int = 0
    fit_wrong: list = field(default_factory=list)  # (row, prediction)
    memory: list = field(default_factory=list)  # (signed relative error, row, prediction)
    measured: list = field(default_factory=list)  # rows that ran and were compared

    def simulated_errors(self):
        """(signed relative error of the replayed step, its relative difference from the formulas, row, prediction)."""
        return [(prediction.simulated_s / row.step_time_s - 1, prediction.simulated_s / prediction.step_time_s - 1, row, prediction)
                for _, row, prediction in self.errors if prediction.simulated_s]

    def mean_error(self):
        return mean([abs(error) for error, *_ in self.errors])

    def bias(self):
        return mean([error for error, *_ in self.errors])

    def quantile(self, share):
        return quantile([abs(error) for error, *_ in self.errors], share)

    def fit(self):
        count = self.fit_right + len(self.fit_wrong)
        return self.fit_right / count if count else None

    def memory_mean_error(self):
        return mean([abs(error) for error, *_ in self.memory])

    def memory_underpredicted(self, by):
        return mean([1.0 if error < -by else 0.0 for error, *_ in self.memory])

    def memory_surely_underpredicted(self, by):
        """Share of rows whose prediction is too low even for the least memory that rounds to the printed figure."""
        return mean([1.0 if prediction.peak_memory_GiB < (1 - by) * (row.peak_memory_GiB - row.memory_rounding_GiB) else 0.0
                     for _, row, prediction in self.memory])

    def worst_regret(self):
        return max((choice.regret for choice in self.choices), default=None)

    def worst_spearman(self):
        return min((choice.spearman for choice in self.choices if choice.spearman is not None), default=None)


def mean(values):
    return sum(values) / len(values) if values else None


def quantile(values, share):
    """The smallest value that `share` of them do not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def ranks(values):
    """1-based, equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for position in range(first, last + 1):
            result[order[position]] = (first + last) / 2 + 1
        first = last + 1
    return result


def spearman(left, right):
    """Rank correlation; None if one side is constant."""
    left, right = ranks(left), ranks(right)
    center = (len(left) + 1) / 2
    covariance = sum((a - center) * (b - center) for a, b in zip(left, right))
    spread = math.sqrt(sum((a - center) ** 2 for a in left) * sum((b - center) ** 2 for b in right))
    return covariance / spread if spread else None


def distinct_layouts(rows):
    """Runs of the same configuration together: a choice cannot tell them apart."""
    layouts = {}
    for row in rows:
        layouts.setdefault(tuple(sorted((key, str(value)) for key, value in row.inputs.items() if key != "id")), []).append(row)
    return layouts


def complexity(row, prediction):
    """As PlanSearch breaks ties: kinds of parallelism and of saving memory, then how far they go, then memory."""
    degree = lambda name: int(float(row.inputs.get(name) or 1))
    kinds = sum(degree(name) > 1 for name in ("tp", "pp", "cp", "ep", "etp", "vp")) + (row.inputs.get("recompute", "none") != "none")
    ranks, group = degree("dp") * degree("cp"), int(float(row.inputs.get("shard_group") or 0))
    kinds += (int(float(row.inputs.get("zero") or 0)) >= 2) + (0 < group < ranks)
    kinds += 2 * (row.inputs.get("offload", "none") != "none")
    kinds += degree("pp") > 1 and row.inputs.get("schedule", "1f1b") not in ("1f1b", "interleaved")
    return kinds, degree("tp") * degree("pp") * degree("cp"), prediction.peak_memory_GiB


def choose(group, rows, predictions):
    """`rows` of one group. Regret is over the rows with a measured time; None if fewer than two have one."""
    timed = [row for row in rows if row.status == "ok" and row.step_time_s and predictions[row.id].step_time_s]
    layouts = list(distinct_layouts(timed).values())
    if len(layouts) < 2:
        return None
    measured = [mean([row.step_time_s for row in layout]) for layout in layouts]
    predicted = [mean([predictions[row.id].step_time_s for row in layout]) for layout in layouts]
    chosen, best = predicted.index(min(predicted)), measured.index(min(measured))
    choice = Choice(group, len(layouts), measured[chosen] / measured[best] - 1, layouts[chosen][0].id, layouts[best][0].id,
                    times=measured, runs=[len(layout) for layout in layouts])
    tied = [i for i, time in enumerate(predicted) if time <= min(predicted) * (1 + INDISTINCT)]
    simplest = min(tied, key=lambda i: complexity(layouts[i][0], predictions[layouts[i][0].id]))
    choice.regret_of_simplest = measured[simplest] / measured[best] - 1
    if len(layouts) >= SPEARMAN_ROWS:
        choice.spearman = spearman(measured, predicted)
    fitting = [row for row in rows if predictions[row.id].fits and predictions[row.id].step_time_s]
    if fitting:
        choice.out_of_memory = min(fitting, key=lambda row: predictions[row.id].step_time_s).status == "oom"
    return choice


def score(table, rows, predictions):
    """Rows that ran have a time, OOM rows have none; both answer whether they fit."""
    result = Score(table, len(rows), sum(1 for row in rows if row.excluded))
    groups = {}
    for row in rows:
        if row.excluded:
            continue
        prediction = predictions.get(row.id)
        if prediction is None or prediction.error:
            result.failed.append((row, prediction))
            continue
        groups.setdefault(row.group, []).append(row)
        if prediction.fits is not None:
            if prediction.fits == (row.status == "ok"):
                result.fit_right += 1
            else:
                result.fit_wrong.append((row, prediction))
        if row.status == "ok" and row.step_time_s and prediction.step_time_s:
            result.errors.append((prediction.step_time_s / row.step_time_s - 1, row, prediction))
            result.measured.append(row)
        if row.peak_memory_GiB and prediction.peak_memory_GiB:
            result.memory.append((prediction.peak_memory_GiB / row.peak_memory_GiB - 1, row, prediction))
    for group, members in groups.items():
        choice = choose(group, members, predictions)
        if choice:
            result.choices.append(choice)
    return result
