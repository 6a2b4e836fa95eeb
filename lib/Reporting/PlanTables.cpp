// The default output: the best plans, why the first is first, costs of other decisions.
#include "ppc/Reporting/PlanReport.h"

#include "ppc/Reporting/TextTable.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir::ppc;

static std::string changeText(double share) { return (share < 0 ? "" : "+") + fixedText(100 * share, 1) + " %"; }

/// A time with "~" before it where nothing like it was ever measured.
static std::string predictedText(const PlanReport &report, Seconds time) {
  return (unmeasuredDevices(report.cluster).empty() ? "" : "~") + toString(time);
}

static std::vector<std::string> planCells(const PlanReport &report, const ParallelLayout &layout,
                                          const StepCost &cost) {
  return {predictedText(report, cost.stepTime),
          percentText(cost.mfu),
          toString(cost.peakMemory),
          percentText(cost.bubble),
          percentText(cost.exposedCommunication / cost.stepTime),
          groupedText(cost.tokensPerSecondPerDevice),
          toString(layout)};
}

static std::vector<std::string> planHeader(std::string first) {
  return {std::move(first), "step", "MFU", "memory", "bubble", "exposed comm.", "tokens/s/device", "layout"};
}

std::string mlir::ppc::deviceKinds(const Cluster &cluster) {
  std::string text;
  for (size_t i = 0; i < cluster.groups.size(); ++i) {
    text += i ? ", " : "";
    if (cluster.groups.size() > 1)
      text += "group " + std::to_string(i) + ": ";
    text += std::to_string(cluster.groups[i].count) + " x " + cluster.groups[i].device.name;
  }
  return text;
}

static void printHeading(const PlanReport &report, llvm::raw_ostream &out) {
  out << report.model.name << " on " << report.cluster.name << " (" << deviceKinds(report.cluster) << "), "
      << report.job.globalBatch << " sequences of " << report.job.sequence << " tokens per step, stack "
      << report.stack.name << "\n";
}

/// Prints the definitions of the table's numbers.
static void printLegend(const PlanReport &report, llvm::raw_ostream &out) {
  if (std::string devices = unmeasuredDevices(report.cluster); !devices.empty())
    out << "~ no step on " << devices
        << " was ever compared with its prediction: rates come from data sheets and other devices\n";
  out << utilizationText(report, report.plans[0].layout) << '\n';
  if (std::string caveat = stackCaveat(report.stack, report.cluster); !caveat.empty())
    out << caveat << '\n';
  if (!isOwnStack(report.stack)) {
    out << "plans " << runnersText(report) << '\n';
    return;
  }
  out << "ppc-compile";
  for (size_t i = 0; i < report.plans.size(); ++i) {
    std::string part = notCompiled(report, report.plans[i].layout);
    out << (i ? "; " : " ") << i + 1 << ": "
        << (part.empty() ? "runs it" : "cannot run " + part + ", and nothing else here runs it");
  }
  out << '\n';
  if (std::string assumption = assumptionText(report); !assumption.empty())
    out << assumption << '\n';
}

std::string mlir::ppc::differenceText(Seconds difference, Seconds step) {
  if (std::abs(difference.value) < 1e-9 * step.value)
    return "";
  return (difference.value > 0 ? "+" : "") + toString(difference);
}

/// Prints the kinds of time of the first plan next to those of the second: all kinds that either has.
static void printWhy(const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &best = report.plans[0];
  const ReportedPlan *second = report.plans.size() > 1 ? &report.plans[1] : nullptr;
  out << "\nwhere the time goes, on the busiest stage\n";
  std::vector<std::string> header{"kind", "1", "share"};
  if (second)
    header.insert(header.end(), {"2", "difference"});
  TextTable table(std::move(header));
  auto row = [&](llvm::StringRef name, Seconds first, Seconds other) {
    std::vector<std::string> cells{name.str(), toString(first), percentText(first / best.cost.stepTime)};
    if (second) {
      cells.push_back(toString(other));
      cells.push_back(differenceText(other - first, best.cost.stepTime));
    }
    table.row(std::move(cells));
  };
  for (int kind = 0; kind < timeKindCount; ++kind) {
    Seconds first = best.time.parts[kind], other = second ? second->time.parts[kind] : Seconds(0);
    if (first.value != 0 || other.value != 0)
      row(toString(static_cast<TimeKind>(kind)), first, other);
  }
  const std::vector<Plan> &searched = report.search.plans;
  row(searched[0].simulated ? "step by formulas" : "step", best.time.total(),
      second ? second->time.total() : Seconds(0));
  table.print(out, "  ");
}

/// Names the kinds of time that grow most when the decision is another, which tells more than "tp 8 x pp 4".
static std::string growthText(const TimeBreakdown &best, const TimeBreakdown &other) {
  int worst = 0;
  for (int kind = 1; kind < timeKindCount; ++kind)
    if (other.parts[kind] - best.parts[kind] > other.parts[worst] - best.parts[worst])
      worst = kind;
  Seconds growth = other.parts[worst] - best.parts[worst];
  if (growth.value <= 0)
    return "";
  return (toString(static_cast<TimeKind>(worst)) + " +" + toString(growth)).str();
}

/// Returns the cost that grows when the decision is another; if no cost of the formulas grows, that of the replay.
static std::string becauseText(const PlanReport &report, const Plan &other, StepEstimator &estimator) {
  if (alternativeCost(report, other) <= 0)
    return "";
  if (other.cost.stepTime <= report.plans[0].cost.stepTime)
    return "waits that only the replay shows";
  llvm::Expected<ReportedPlan> reported = reportPlan(report, other.layout, estimator);
  if (reported)
    return growthText(report.plans[0].time, reported->time);
  llvm::consumeError(reported.takeError());
  return "";
}

static void printAlternatives(const PlanReport &report, llvm::raw_ostream &out) {
  if (report.search.alternatives.empty())
    return;
  out << "\nwhat another decision costs, everything else chosen anew\n";
  bool replayed = report.search.plans[0].simulated.has_value();
  std::vector<std::string> header{"decision", "chosen", "next best", "step", "change", "because"};
  if (replayed)
    header.insert(header.begin() + 4, "by formulas");
  TextTable table(std::move(header));
  StepEstimator estimator;
  for (const PlanAlternative &alternative : report.search.alternatives) {
    std::vector<std::string> cells{toString(alternative.key).str(), alternative.chosen, alternative.other};
    if (alternative.plan) {
      cells.push_back(toString(bestTime(*alternative.plan)));
      if (replayed)
        cells.push_back(toString(alternative.plan->cost.stepTime));
      cells.push_back(changeText(alternativeCost(report, *alternative.plan)));
      cells.push_back(becauseText(report, *alternative.plan, estimator));
    } else {
      cells.insert(cells.end(), replayed ? 3 : 2, "");
      cells.push_back(alternative.reason);
    }
    table.row(std::move(cells));
  }
  table.print(out, "  ");
}

static void printSearch(const PlanReport &report, llvm::raw_ostream &out) {
  const PlanSearchResult &search = report.search;
  if (search.lowerBound.value > 0)
    out << "\nno layout of the space takes less than " << toString(search.lowerBound) << " (gap "
        << percentText(search.gap) << ")\n";
  for (const std::string &note : search.notes)
    out << "note: " << note << '\n';
}

/// Which of the plans cannot be told apart by their times, and which of those is simplest.
static void printTies(const PlanReport &report, llvm::raw_ostream &out) {
  if (report.search.ties < 2)
    return;
  out << "1 to " << report.search.ties << " cannot be told apart: of measured pairs predicted within "
      << percentText(indistinctShare()) << " of each other, half are the other way round; "
      << report.search.simplest + 1 << " is the simplest of them\n";
}

void mlir::ppc::printPlans(const PlanReport &report, llvm::raw_ostream &out) {
  printHeading(report, out);
  out << '\n';
  std::vector<std::string> header = planHeader("");
  bool replayed = llvm::any_of(report.search.plans, [](const Plan &plan) { return plan.simulated.has_value(); });
  if (replayed)
    header.insert(header.begin() + 2, "by formulas");
  header.insert(header.begin() + 2 + replayed, "90 % range");
  TextTable table(std::move(header));
  for (size_t i = 0; i < report.plans.size(); ++i) {
    std::vector<std::string> cells = planCells(report, report.plans[i].layout, report.plans[i].cost);
    if (!report.plans[i].cost.fits)
      cells[2] += " (does not fit)";
    if (replayed) // first the column by which they are ordered
      cells.insert(cells.begin(), predictedText(report, bestTime(report.search.plans[i])));
    cells.insert(cells.begin() + 1 + replayed, rangeText(report.plans[i].interval, bestTime(report.search.plans[i])));
    cells.insert(cells.begin(), std::to_string(i + 1));
    table.row(std::move(cells));
  }
  table.print(out);
  if (report.plans.empty())
    return;
  if (replayed)
    out << "steps are replayed event by event; the shares and kinds of time below are by closed formulas\n";
  out << intervalNote(report) << '\n';
  printTies(report, out);
  printLegend(report, out);
  printTuning(report, out);
  printWhy(report, out);
  printAlternatives(report, out);
  printSearch(report, out);
}

void mlir::ppc::printFrontier(const PlanReport &report, llvm::raw_ostream &out) {
  if (report.search.frontier.empty())
    return; // a note says why
  out << "\nthe fastest plan for each amount of memory, by closed formulas\n";
  TextTable table(planHeader(""));
  for (size_t i = 0; i < report.search.frontier.size(); ++i) {
    std::vector<std::string> cells =
        planCells(report, report.search.frontier[i].layout, report.search.frontier[i].cost);
    cells.insert(cells.begin(), std::to_string(i + 1));
    table.row(std::move(cells));
  }
  table.print(out, "  ");
}

void mlir::ppc::printInfeasibility(const Infeasibility &infeasibility, llvm::raw_ostream &out) {
  out << infeasibility.reason << '\n';
  for (const PlanRelaxation &relaxation : infeasibility.relaxations)
    out << "note: possible with " << toString(relaxation.key) << " " << relaxation.to
        << (relaxation.from.empty() ? "" : " instead of " + relaxation.from) << ": "
        << toString(relaxation.plan.cost.stepTime) << " per step by closed formulas, "
        << toString(relaxation.plan.cost.peakMemory) << ", " << toString(relaxation.plan.layout) << '\n';
}
