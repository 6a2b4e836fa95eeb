#!/usr/bin/env python3
"""Compares `ppc-plan --evaluate` with measured training steps: one command prints the whole accuracy table.

Reads the published measurements in --measured, converts each row to an input row of `ppc-plan --evaluate` (tools/dev/accuracy
documents the sources' conventions), runs the tool once, and prints per table: errors of step time, regret and rank correlation
within groups of rows that differ in layout only, right answers to "does it fit", errors of peak memory, each with its bound. Exit
status 1 with --check when a figure is outside its bound.
"""
import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from accuracy import heldout, intervals, plan_tool, report, row, score, steps, tables


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", required=True, metavar="DIR", help="folder of the measured tables")
    parser.add_argument("--held-out", metavar="DIR", help="the rows that no constant was set with (test/Accuracy/heldout) instead")
    parser.add_argument("--plan-tool", metavar="FILE", help="the ppc-plan to run")
    parser.add_argument("--emit-rows", metavar="DIR",
                        help="write TABLE.csv (inputs) and TABLE.expected.csv (measured) of every table")
    parser.add_argument("--predictions", metavar="FILE", help="an output of ppc-plan to read instead of running it")
    parser.add_argument("--simulate", action="store_true",
                        help="also replay each step event by event: its errors, and where it differs from the formulas")
    parser.add_argument("--keep", metavar="DIR", help="leave what the tool read and wrote there")
    parser.add_argument("--table", action="append", choices=list(tables.TABLES) + list(heldout.TABLES), help="only this table (may be repeated)")
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE[|VALUE]",
                        help="only rows with one of these values")
    parser.add_argument("--by", action="append", default=[], metavar="COLUMN[,COLUMN]",
                        help="mean signed error by the values of columns: inputs (tp, micro_batch, attention, ...), "
                        "model_name, or tags (software, kernel, sheet, era, section, release, phase, strategy, mode)")
    parser.add_argument("--memory", action="store_true", help="--by breaks down the error of peak memory instead")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="list N rows of largest error per table")
    parser.add_argument("--details", action="store_true", help="list wrong fits, worst groups and refusals")
    parser.add_argument("--markdown", metavar="FILE", help="write the figures for docs/performance/accuracy.md")
    parser.add_argument("--slack", type=float, metavar="F",
                        help="widen the bounds on errors by this factor, and hold a few rows of a table to them, too")
    parser.add_argument("--intervals", metavar="DIR", help="also the intervals of rows left out by source, with the rows of DIR "
                        "(test/Accuracy/heldout) and those of --measured")
    parser.add_argument("--write-errors", action="store_true",
                        help="with --intervals: write lib/CostModel/measured-errors.csv, from which predictions get their intervals")
    parser.add_argument("--tune", type=int, default=0, metavar="ROUNDS", help="with --write-errors: choose the intervals' parameters anew")
    parser.add_argument("--check", action="store_true", help="exit status 1 when a figure is outside its bound")
    options = parser.parse_args()
    if not (options.emit_rows or options.plan_tool or options.predictions):
        parser.error("nothing to do: give --plan-tool, --predictions or --emit-rows")
    return options


def selected(rows, conditions):
    """Rows for which every COLUMN=VALUE|VALUE holds."""
    for condition in conditions:
        column, _, values = condition.partition("=")
        rows = [entry for entry in rows if str(entry.value(column)) in values.split("|")]
    return rows


def print_intervals(options, scores):
    folder = tempfile.mkdtemp(prefix="accuracy-")
    rows = tables.read_tables(options.measured, folder, options.intervals)
    if any(entry.table == steps.VTRAIN for entry in scores):
        rows.pop(heldout.VTRAIN_NODE)  # among those
    predictions = plan_tool.run(options.plan_tool, folder, [entry for entries in rows.values() for entry in entries])
    scores = scores + [score.score(name, entries, predictions) for name, entries in rows.items()]
    scores = [entry for entry in scores if entry.errors]
    cells, parameters = intervals.cells_of(scores), intervals.read_parameters(intervals.errors_file())
    if options.tune:
        parameters = intervals.tune(scores, cells, parameters, options.tune)
    if options.write_errors:
        intervals.write(intervals.errors_file(), cells, parameters)
    print(intervals.text(intervals.leave_out(scores, cells, parameters)))
    print(intervals.ratio_text(scores, parameters["indistinct"]) + "\n")


def main():
    options = arguments()
    folder = options.emit_rows or options.keep or tempfile.mkdtemp(prefix="accuracy-")
    rows = tables.read_tables(options.measured, os.path.abspath(folder), options.held_out)
    rows = {name: selected(entries, options.where) for name, entries in rows.items()
            if not options.table or name in options.table}
    rows = {name: entries for name, entries in rows.items() if entries}
    if options.emit_rows:
        for name, entries in rows.items():
            path = row.write_rows(options.emit_rows, name, entries)
            excluded = sum(1 for entry in entries if entry.excluded)
            print(f"{path}: {len(entries) - excluded} rows, {excluded} excluded")
    if not (options.plan_tool or options.predictions):
        return 0
    if options.predictions:
        predictions = plan_tool.read(options.predictions)
    else:
        predictions = plan_tool.run(options.plan_tool, folder, [entry for entries in rows.values() for entry in entries],
                                    options.simulate)

    scores = [score.score(name, entries, predictions) for name, entries in rows.items()]
    if options.intervals:
        print_intervals(options, scores)
    result = report.Report(options.slack)
    for entry in scores:
        result.add(entry)
    print(result.text())
    for entry in scores:
        sections = [("largest errors of step time", report.worst_text(entry, options.worst)),
                    ("largest errors of peak memory", report.memory_text(entry, options.worst)),
                    ("replayed steps that differ most", report.simulated_text(entry, options.worst))]
        if options.details:
            sections += [("fit answered wrong", report.fit_text(entry)), ("groups", report.choices_text(entry, 10)),
                         ("refused", report.failed_text(entry))]
        for title, text in sections:
            if text:
                print(f"\n{entry.table}: {title}\n{text}")
    for columns in options.by:
        print(f"\nerror of {'peak memory' if options.memory else 'step time'} by {columns}\n" +
              report.breakdown(scores, columns.split(","), options.memory))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(report.markdown(result, rows))
    if result.misses:
        print(f"\n{len(result.misses)} figures outside their bounds:\n  " + "\n  ".join(result.misses))
    return 1 if options.check and result.misses else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
