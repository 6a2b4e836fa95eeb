"""Scores as text and as Markdown."""
import re

from . import repeats
from .score import mean, quantile
from .tables import MEMORY_UNDERPREDICTED, P90_OVER_MEAN, TABLES, UNBOUNDED, Target


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f}%"


def plain(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


# Columns of the page's table, and the figures that they show.
COLUMNS = (
    ("rows", "rows"), ("step time: mean error", "mean error of step time"), ("median, p90, max", "median, p90, max"), ("bias", "bias"),
    ("worst regret", r"worst regret.*"), ("Spearman", r"worst Spearman.*"), ("fits, right", "fits or not, right"),
    ("memory: mean error", r"mean error of peak memory.*"), ("under by over 2%", "under-predicted by over 2%"),
)


class Report:
    """Collects the figures of tables with their bounds; `misses` lists those outside. Bounds apply to full tables. With `slack`
    they are widened by it and hold for some of a table's rows, too; without, such rows show the bound of the full table."""

    def __init__(self, slack=None):
        self.slack = slack
        self.whole = True  # whether figures of a full table are added
        self.rows = []  # table, figure, value, bound, verdict
        self.misses = []

    def figure(self, table, name, text, bound="", good=None):
        verdict = "" if good is None else "ok" if good else "MISS"
        self.rows.append((table, name, text, bound, verdict))
        if good is False:
            self.misses.append(f"{table}: {name} {text}, wanted {bound}")

    def most(self, table, name, value, bound, show=percent):
        """An error that should be at most `bound` (None: no bound)."""
        bound = None if bound is None else bound * (self.slack or 1)
        self.judge(table, name, show(value), "<= ", bound, show, bound is not None and value is not None and value <= bound + 1e-9)

    def least(self, table, name, value, bound, show=percent):
        """A share or correlation that should be at least `bound`."""
        bound = None if bound is None else 1 - (1 - bound) * (self.slack or 1)
        self.judge(table, name, show(value), ">= ", bound, show, bound is not None and value is not None and value >= bound - 1e-9)

    def judge(self, table, name, text, relation, bound, show, good):
        if bound is None or text == "-":
            self.figure(table, name, text)
        elif self.whole or self.slack:
            self.figure(table, name, text, relation + show(bound), good)
        else:
            self.figure(table, name, text, f"whole: {relation}{show(bound)}")

    def add(self, score):
        name, target = score.table, TABLES.get(score.table, UNBOUNDED)
        self.whole = score.rows >= target.rows
        part = "" if self.whole else f" of {target.rows}"
        self.figure(name, "rows", f"{score.rows}{part} ({score.excluded} excluded)")
        if score.failed:
            self.figure(name, "rows that the tool refused", str(len(score.failed)), "0", False)
        if score.errors:
            average = score.mean_error()
            self.most(name, "mean error of step time", average, target.mean_error)
            self.figure(name, "median, p90, max", ", ".join(percent(score.quantile(q)) for q in (0.5, 0.9, 1.0)))
            ratio = score.quantile(0.9) / average if average else 0.0
            self.most(name, "p90 / mean", ratio, P90_OVER_MEAN if target.mean_error else None,
                      lambda value: plain(value, 2))
            self.figure(name, "bias", f"{100 * score.bias():+.1f}%")
        replayed = score.simulated_errors()
        if replayed:
            self.figure(name, "replayed: mean error, bias", f"{percent(mean([abs(error) for error, *_ in replayed]))}, "
                        f"{100 * mean([error for error, *_ in replayed]):+.1f}%")
            differences = [difference for _, difference, *_ in replayed]
            self.figure(name, "replayed / formulas: mean, least, most",
                        ", ".join(f"{100 * value:+.1f}%" for value in (mean(differences), min(differences), max(differences))))
        if score.choices:
            self.most(name, f"worst regret of {len(score.choices)} groups", score.worst_regret(), target.regret, percent)
            self.most(name, "mean regret", mean([choice.regret for choice in score.choices]), target.mean_regret,
                      lambda value: percent(value, 2))
            self.figure(name, "mean regret, ties broken by what is simpler",
                        percent(mean([choice.regret_of_simplest for choice in score.choices]), 2))
            large = [choice for choice in score.choices if choice.spearman is not None]
            if large:
                self.least(name, f"worst Spearman of {len(large)} groups", score.worst_spearman(), target.spearman, plain)
            wrong = sum(1 for choice in score.choices if choice.out_of_memory)
            if wrong:
                self.figure(name, "groups whose first choice ran out of memory", str(wrong))
        if target.fit and score.fit() is not None:
            self.least(name, "fits or not, right", score.fit(), target.fit)
            unsafe = sum(1 for row, _ in score.fit_wrong if row.status == "oom")
            self.figure(name, "said to fit, ran out / said not to, ran", f"{unsafe} / {len(score.fit_wrong) - unsafe}")
        elif score.fit_wrong:
            unsafe = sum(1 for row, _ in score.fit_wrong if row.status == "oom")
            self.figure(name, "said to fit, ran out / said not to, ran", f"{unsafe} / {len(score.fit_wrong) - unsafe}")
        if score.memory:
            by = MEMORY_UNDERPREDICTED
            self.most(name, f"mean error of peak memory ({len(score.memory)} rows)", score.memory_mean_error(),
                      target.memory_mean_error)
            self.most(name, f"under-predicted by over {percent(by, 0)}", score.memory_underpredicted(by),
                      target.memory_underpredicted)
            if any(row.memory_rounding_GiB for _, row, _ in score.memory):
                self.figure(name, "of what rounds to the printed digits", percent(score.memory_surely_underpredicted(by)))
        self.add_repeats(name, score)

    def add_repeats(self, name, score):
        """Limits that no model could exceed, if layouts were run several times."""
        times, memory = repeats.values(score.measured, "step_time_s"), repeats.values(score.measured, "peak_memory_GiB")
        if times:
            sigma = repeats.spread(times)
            self.figure(name, f"{len(times)} layouts run again: times differ by", percent(sigma))
            if score.choices:
                found = repeats.reachable(score.choices, times)
                if found.spearman:
                    above = mean([1.0 if value >= Target.spearman else 0.0 for value in found.spearman])
                    self.figure(name, "of a perfect model: worst Spearman, mean, p5, p95", ", ".join(
                        plain(value) for value in (mean(found.spearman), quantile(found.spearman, 0.05), quantile(found.spearman, 0.95))))
                    self.figure(name, f"of a perfect model: Spearman reaches {plain(Target.spearman, 2)} in", f"{percent(above)} of draws")
                self.figure(name, "of a perfect model: worst regret, mean, p95",
                            f"{percent(mean(found.regret))}, {percent(quantile(found.regret, 0.95))}")
        if memory:
            error, under = repeats.perfect_memory(memory, MEMORY_UNDERPREDICTED)
            self.figure(name, f"of a perfect model: memory's error, under, by {len(memory)} layouts", f"{percent(error)}, {percent(under)}")

    def text(self):
        lines, last = [], None
        for table, name, value, bound, verdict in self.rows:
            if table != last:
                lines.append(table)
            last = table
            lines.append(f"  {name:<44} {value:>28} {bound:>12} {verdict}".rstrip())
        return "\n".join(lines)

    def markdown(self):
        """One row per table: the figures of COLUMNS. Those that have a bound show it, and a miss."""
        cells = {}
        for table, name, value, bound, verdict in self.rows:
            for column, pattern in COLUMNS:
                if re.fullmatch(pattern, name):
                    wanted = f" ({bound.replace(' ', '')}{', MISS' if verdict == 'MISS' else ''})" if bound else ""
                    cells.setdefault(table, {})[column] = value + wanted
        heads = [column for column, _ in COLUMNS]
        lines = ["| table | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
        lines += [f"| {table} | " + " | ".join(row.get(head, "") for head in heads) + " |" for table, row in cells.items()]
        return "\n".join(lines)


def worst(score, count):
    """(signed error, row, prediction) of the largest errors of step time."""
    return sorted(score.errors, key=lambda item: -abs(item[0]))[:count]


def layout(row):
    """Human-readable degrees of a row: only those that differ from 1 and from the default."""
    inputs = row.inputs
    degrees = [f"{key}{inputs[key]}" for key in ("tp", "pp", "vp", "dp", "cp", "ep") if inputs.get(key, 1) not in (1, "1")]
    return " ".join(degrees + [f"mbs{inputs.get('micro_batch', '')}", f"zero{inputs.get('zero', 0)}"] +
                    (["sp"] if inputs.get("sp") in (1, "1") else []) +
                    [str(inputs.get(key, "")) for key in ("schedule", "recompute", "attention", "precision")])


def worst_text(score, count):
    lines = []
    for error, row, prediction in worst(score, count):
        lines.append(f"  {100 * error:+7.1f}%  measured {row.step_time_s:9.3f} s  predicted {prediction.step_time_s:9.3f} s  "
                     f"{row.model_name} s{row.inputs['seq_len']} gbs{row.inputs['global_batch']} "
                     f"on {row.inputs['devices']}: {layout(row)}  [{row.id}]")
    return "\n".join(lines)


def memory_text(score, count):
    lines = []
    for error, row, prediction in sorted(score.memory, key=lambda item: -abs(item[0]))[:count]:
        lines.append(f"  {100 * error:+7.1f}%  measured {row.peak_memory_GiB:6.1f} GiB  predicted "
                     f"{prediction.peak_memory_GiB:6.1f} GiB  {row.model_name}: {layout(row)}  [{row.id}]")
    return "\n".join(lines)


def simulated_text(score, count):
    """Rows whose replayed step differs most from the formulas."""
    lines = []
    for error, difference, row, prediction in sorted(score.simulated_errors(), key=lambda item: -abs(item[1]))[:count]:
        lines.append(f"  {100 * difference:+7.1f}%  measured {row.step_time_s:9.3f} s  formulas {prediction.step_time_s:9.3f} s  "
                     f"replayed {prediction.simulated_s:9.3f} s  {row.model_name} on {row.inputs['devices']}: {layout(row)}  [{row.id}]")
    return "\n".join(lines)


def fit_text(score):
    lines = []
    for row, prediction in score.fit_wrong:
        lines.append(f"  {'ran out of memory' if row.status == 'oom' else 'ran             '}, predicted "
                     f"{plain(prediction.peak_memory_GiB, 1)} GiB  {row.model_name}: {layout(row)}  [{row.id}]")
    return "\n".join(lines)


def failed_text(score):
    """Refusals by message, with the first row of each."""
    messages = {}
    for row, prediction in score.failed:
        messages.setdefault(prediction.error if prediction else "no output row", []).append(row.id)
    return "\n".join(f"  {len(ids)} rows: {message} [{ids[0]}]" for message, ids in messages.items())


def choices_text(score, count):
    """Groups by regret."""
    lines = []
    for choice in sorted(score.choices, key=lambda choice: -choice.regret)[:count]:
        rank = f", Spearman {choice.spearman:.3f}" if choice.spearman is not None else ""
        lines.append(f"  regret {100 * choice.regret:5.2f}%  {choice.group} ({choice.rows} rows{rank}): took {choice.chosen}, "
                     f"best {choice.best}")
    return "\n".join(lines)


def natural(value):
    """Numbers sort as numbers."""
    try:
        return (0, float(value), "")
    except (TypeError, ValueError):
        return (1, 0.0, str(value))


def breakdown(scores, columns, memory=False):
    """Mean signed error by the values of `columns`, over the given tables: the tool for finding what is mispredicted."""
    cells = {}
    for score in scores:
        for error, row, _ in score.memory if memory else score.errors:
            cells.setdefault(tuple(row.value(column) for column in columns), []).append(error)
    lines = [" ".join(f"{column:>14}" for column in columns) + f" {'rows':>6} {'bias':>8} {'mean':>8} {'least':>8} {'most':>8}"]
    for key in sorted(cells, key=lambda key: tuple(natural(value) for value in key)):
        errors = cells[key]
        lines.append(" ".join(f"{str(value) or '-':>14}" for value in key) + f" {len(errors):6d}" + "".join(
            f" {100 * value:+7.1f}%" for value in (mean(errors), mean([abs(error) for error in errors]), min(errors),
                                                   max(errors))))
    return "\n".join(lines)


def exclusions(rows):
    """(reason, count) of a table's excluded rows, most frequent first."""
    counts = {}
    for row in rows:
        if row.excluded:
            counts[row.excluded] = counts.get(row.excluded, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


HEADER = """# How wrong predictions are

For those who plan: predicted step time and memory against published measurements. One set of constants per hardware predicts every row
(`ppc-plan --evaluate`); switches say what the measured software did ([sources.md](sources.md)). Tables that set no constant:
[heldout.md](heldout.md). Written on 2026-11 by

```text
python3 tools/dev/accuracy.py --measured DIR --plan-tool build/dev/bin/ppc-plan --markdown FILE
```

where DIR holds the published tables, of which the repository has a sample. Without `--markdown` it prints every figure, with `--worst N` the
worst rows.

- Error: predicted over measured step time, less one; bias: its mean with sign. In brackets the bound that the project holds itself to.
- Regret: what the layout predicted fastest costs against the fastest measured, in groups of rows that differ in layout only.
- Spearman: rank correlation in the worst group of ten and more. A model without error would reach 0.887 on `bloom` (0.95 in 29 % of draws), whose
  equal runs differ by 2.6 %, and 0.997 on `aleph-alpha`.
"""

MISSES = """
## What is missed, and why

- **BLOOM, ranks.** Rows are second iterations, and runs of one layout differ by more than the group's four fastest layouts do. Also, tp 8 with
  micro-batches of 1 and 2 is 3 to 4 % slower than predicted, and 16 data-parallel ranks cost 5 s more.
- **BLOOM, memory.** The log rounds to thousands of MiB, and equal layouts differ by up to 14 %. Predictions carry no margin.
- **Zero bubble, memory.** Two rows, printed as 12 and 29 GB, are predicted 11.4 and 28.4 GB.
- **Aleph Alpha, fits or not.** Four runs that were said to fit ran out of memory, four of FlashAttention-2 the other way; no number of bytes per
  score explains all. At most 383 of 385 can be right; 375 are.
- **Aleph Alpha, excluded rows.** Steps with two stages take six micro-batches' time more than predicted; no other table shows that.
- **FlagPerf.** One row of Megatron-LM of 2023 is 27 % over in memory; two rows of Paddle hold 20 GB more than rows that differ little.
- **vTrain on one node.** Steps jump with the micro-batch where kernels take over from the host; one group costs 27 %.
"""


def markdown(report, tables):
    """docs/performance/accuracy.md."""
    parts = [HEADER, "## Figures", "", report.markdown(), MISSES, "## Excluded rows", "", "| table | rows: why |", "|---|---|"]
    for name, rows in tables.items():
        if reasons := exclusions(rows):
            parts.append(f"| {name} | " + "; ".join(f"{count}: {reason}" for reason, count in reasons) + " |")
    return "\n".join(parts) + "\n"
