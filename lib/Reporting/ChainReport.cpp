#include "ppc/Reporting/ChainReport.h"

#include "ppc/Reporting/MemoryParts.h"
#include "ppc/Reporting/PlanReport.h"
#include "ppc/Reporting/TextTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

static std::string layoutText(const ChainPlan &plan) {
  std::string text = toString(plan.layout), axes = axesText(plan.axes);
  return axes.empty() ? text : text + ", " + axes;
}

namespace {
/// Runs of layers that have the same template and choice.
struct LayerRun {
  size_t first = 0, count = 0;
  TemplateSearchResult::Layer place;
  std::string name() const {
    return count > 1 ? llvm::formatv("{0}-{1}", first, first + count - 1).str() : std::to_string(first);
  }
};
} // namespace

static std::vector<LayerRun> layerRuns(const ChainPlan &plan) {
  std::vector<LayerRun> runs;
  for (auto [number, layer] : llvm::enumerate(plan.shardings.layers)) {
    if (runs.empty() || runs.back().place.index != layer.index || runs.back().place.choice != layer.choice)
      runs.push_back({number, 0, layer});
    ++runs.back().count;
  }
  return runs;
}

void mlir::ppc::printOpCuts(const ChainModel &model, const ChainPlan &plan, llvm::raw_ostream &out) {
  TextTable table({"layers", "op", "cut", "of", "forward", "backward"});
  for (const LayerRun &run : layerRuns(plan)) {
    const OpTemplate &layer = plan.chain->templates[run.place.index];
    const TemplateChoice &choice = plan.shardings.choices[run.place.index][run.place.choice];
    const LayerProgram &program = plan.programs[run.place.index][run.place.choice].program;
    bool named = false;
    auto row = [&](llvm::StringRef op, std::string cut, std::string of, Seconds forward, Seconds backward) {
      table.row(
          {named ? "" : run.name(), op.str(), std::move(cut), std::move(of), toString(forward), toString(backward)});
      named = true;
    };
    for (const LayerOp &op : program.ops) {
      if (op.kind == OpClass::Communication) {
        row("  move " + op.name.str(), "", "", op.forward, op.backward);
        continue;
      }
      auto data = llvm::find_if(layer.ops, [&](const TemplateOp &one) { return one.name.data() == op.name.data(); });
      if (data == layer.ops.end())
        continue;
      const OpStrategy &strategy = choice.strategies[data - layer.ops.begin()];
      std::vector<std::string> sizes;
      for (auto [number, factor] : llvm::enumerate(data->factors))
        if (llvm::is_contained(strategy.axes, int(number)))
          sizes.push_back(llvm::formatv("{0} {1}", factor.name, factor.size));
      row(op.name, toString(*data, strategy, plan.axes), llvm::join(sizes, ", "), op.forward,
          op.backward + op.weightGradient);
    }
  }
  table.print(out, "  ");
}

void mlir::ppc::printChainPlans(const ChainReport &report, llvm::raw_ostream &out) {
  const Cluster &cluster = report.cluster;
  out << report.model.name << " on " << cluster.name << " (" << cluster.deviceCount() << " x " << cluster.device().name
      << "), " << report.model.batch << " samples per step, stack " << report.stack.name << "; op-level sharding\n\n";
  TextTable table({"", "step", "MFU", "memory", "bubble", "exposed comm.", "samples/s/device", "layout"});
  for (auto [number, plan] : llvm::enumerate(report.search.plans))
    table.row({std::to_string(number + 1), toString(plan.cost.stepTime), percentText(plan.cost.mfu),
               toString(plan.cost.peakMemory), percentText(plan.cost.bubble),
               percentText(plan.cost.exposedCommunication / plan.cost.stepTime),
               fixedText(plan.cost.tokensPerSecondPerDevice, 1), layoutText(plan)});
  table.print(out);
  if (isOwnStack(report.stack)) {
    out << "ppc-compile";
    for (auto [number, plan] : llvm::enumerate(report.search.plans)) {
      std::string part = lackedBy(report.target, report.model, plan);
      out << (number ? "; " : " ") << number + 1 << ": " << (part.empty() ? "runs it" : "cannot run " + part);
    }
    out << '\n';
  }
  const ChainPlan &best = report.search.plans.front();
  out << "\nshardings of the ops of the best plan, with the times of one micro-batch\n";
  printOpCuts(report.model, best, out);
  out << "\nno layout of the space takes less than " << toString(report.search.lowerBound)
      << ", the time of the kernels alone (gap " << percentText(best.cost.stepTime / report.search.lowerBound - 1)
      << ")\n";
}

static void printMemory(const ChainReport &report, llvm::raw_ostream &out) {
  std::vector<std::string> header{"stage"};
  for (const MemoryPart &part : memoryParts)
    header.push_back(part.name.str());
  header.push_back("total");
  TextTable table(header);
  for (auto [number, stage] : llvm::enumerate(report.search.plans.front().cost.stages)) {
    std::vector<std::string> cells{std::to_string(number)};
    for (const MemoryPart &part : memoryParts)
      cells.push_back(toString(stage.memory.*part.bytes));
    cells.push_back(toString(stage.memory.total()));
    table.row(std::move(cells));
  }
  out << "peak memory of a rank of each stage\n";
  table.print(out, "  ");
}

llvm::Error mlir::ppc::printChainExplanation(const ChainReport &report, llvm::StringRef name, llvm::raw_ostream &out) {
  if (name == "ops") {
    printOpCuts(report.model, report.search.plans.front(), out);
  } else if (name == "memory") {
    printMemory(report, out);
  } else if (name == "search") {
    TextTable table({"what", "count"});
    for (const SearchCount &row : report.search.table)
      table.row({row.name, groupedText(double(row.count))});
    table.print(out);
  } else {
    return llvm::createStringError(
        "--explain " + name + ": a program with op-level sharding has explanations of 'ops', 'memory' and 'search'");
  }
  return llvm::Error::success();
}

static std::string axesOf(const ChainPlan &plan) {
  std::string text = axesText(plan.axes);
  return text.empty() ? "tp " + std::to_string(plan.layout.tp) : text;
}

void mlir::ppc::printComparison(const ChainReport &report, llvm::ArrayRef<ChainComparison> comparisons,
                                llvm::raw_ostream &out) {
  out << "\nthe same degrees with op-level sharding, costs estimated op by op\n";
  TextTable table({"plan", "column/row-parallel", "op-level", "change", "axes", "because"});
  for (const ChainComparison &comparison : comparisons) {
    std::vector<std::string> cells{std::to_string(comparison.plan + 1)};
    if (comparison.menu && comparison.free) {
      Seconds change = comparison.free->cost.stepTime - comparison.menu->cost.stepTime;
      cells.insert(cells.end(), {toString(comparison.menu->cost.stepTime), toString(comparison.free->cost.stepTime),
                                 differenceText(change, comparison.menu->cost.stepTime), axesOf(*comparison.free), ""});
    } else {
      cells.insert(cells.end(), {"", "", "", "", comparison.reason});
    }
    table.row(std::move(cells));
  }
  table.print(out, "  ");
  if (report.search.plans.empty()) {
    out << "op-level sharding is not profitable: none of its plans is 0.5 % faster than column and row parallelism\n";
    return;
  }
  const ChainPlan &best = report.search.plans.front();
  out << "\nshardings of the ops of the fastest (" << layoutText(best) << "), with the times of one micro-batch\n";
  printOpCuts(report.model, best, out);
}

llvm::json::Value mlir::ppc::toJson(llvm::ArrayRef<ChainComparison> comparisons) {
  llvm::json::Array rows;
  for (const ChainComparison &comparison : comparisons) {
    llvm::json::Object row{{"plan", int64_t(comparison.plan)}};
    if (comparison.menu && comparison.free) {
      row["columns_and_rows_s"] = comparison.menu->cost.stepTime.value;
      row["each_by_itself_s"] = comparison.free->cost.stepTime.value;
      row["axes"] = axesOf(*comparison.free);
    } else {
      row["reason"] = comparison.reason;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

llvm::json::Value mlir::ppc::toJson(const ChainReport &report) {
  namespace json = llvm::json;
  json::Array plans, table;
  for (const ChainPlan &plan : report.search.plans) {
    json::Object axes;
    for (const LayoutAxis &axis : plan.axes)
      axes[axis.name] = axis.size;
    json::Array layers;
    for (const LayerRun &run : layerRuns(plan)) {
      const OpTemplate &layer = plan.chain->templates[run.place.index];
      const TemplateChoice &choice = plan.shardings.choices[run.place.index][run.place.choice];
      json::Array ops;
      for (auto [op, strategy] : llvm::zip_equal(layer.ops, choice.strategies))
        ops.push_back(json::Object{{"op", op.name}, {"cut", toString(op, strategy, plan.axes)}});
      layers.push_back(
          json::Object{{"first", int64_t(run.first)}, {"count", int64_t(run.count)}, {"ops", std::move(ops)}});
    }
    json::Object object{{"layout", toJson(plan.layout)},
                        {"summary", layoutText(plan)},
                        {"axes", std::move(axes)},
                        {"step_time_s", plan.cost.stepTime.value},
                        {"mfu", plan.cost.mfu},
                        {"samples_per_s_per_device", plan.cost.tokensPerSecondPerDevice},
                        {"peak_memory_bytes", plan.cost.peakMemory.value},
                        {"bubble", plan.cost.bubble},
                        {"fits", plan.cost.fits},
                        {"layers", std::move(layers)}};
    if (isOwnStack(report.stack)) {
      std::string part = lackedBy(report.target, report.model, plan);
      object["compiled"] = part.empty();
      if (!part.empty())
        object["not_compiled"] = part;
    }
    plans.push_back(std::move(object));
  }
  for (const SearchCount &row : report.search.table)
    table.push_back(json::Object{{"name", row.name}, {"count", row.count}});
  return json::Object{{"model", report.model.name}, {"cluster", report.cluster.name},
                      {"stack", report.stack.name}, {"samples", report.model.batch},
                      {"plans", std::move(plans)},  {"lower_bound_s", report.search.lowerBound.value},
                      {"search", std::move(table)}};
}
