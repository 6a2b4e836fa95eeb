// ppc-plan: decides the layout of a model on a cluster, or estimates given layouts.
#include "PlanRun.h"
#include "ppc/CostModel/LayoutRows.h"
#include "ppc/Model/ModelConfig.h"
#include "ppc/Reporting/ModelDescription.h"
#include "ppc/Reporting/PlanExport.h"
#include "ppc/Reporting/TextTable.h"
#include "ppc/Simulation/StepSimulation.h"
#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/OutputFile.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace mlir::ppc;

static std::string simulatedCell(const LayoutRow &row, const StepDetail &detail, const StepCost &cost) {
  llvm::Expected<SimulatedStep> step =
      simulateStep(*row.model, row.job, *row.cluster, row.layout, *row.stack, detail, cost);
  std::string text;
  if (step)
    llvm::raw_string_ostream(text) << llvm::format("%.6g", step->stepTime.value);
  else
    llvm::consumeError(step.takeError()); // the column stays empty; the row itself is estimated
  return text;
}

static int evaluate(const PlanOptions &options, OutputFile &output) {
  auto buffer = options.evaluateFile == "-" ? readStandardInput(limits::tableBytes)
                                            : readInputFile(options.evaluateFile, limits::tableBytes);
  if (!buffer)
    return fail(options.evaluateFile + ": " + llvm::toString(buffer.takeError()));
  llvm::Expected<std::vector<LayoutRow>> rows = readLayoutRows(options.evaluateFile, (*buffer)->getBuffer());
  if (!rows)
    return fail(rows.takeError());
  std::vector<RowColumn> more;
  if (options.simulate)
    more.push_back({"simulated_s", simulatedCell});
  return writeOutput(output, [&](llvm::raw_ostream &out) {
    evaluateRows(*rows, out, more);
    return 0;
  });
}

static int listClusters(OutputFile &output) {
  return writeOutput(output, [&](llvm::raw_ostream &out) {
    TextTable table({"name", "devices", "device", "memory", "bf16 peak", "summary"});
    for (const ClusterPreset &preset : clusterPresets()) {
      llvm::Expected<Cluster> cluster = findCluster(preset.name);
      if (!cluster)
        return fail(cluster.takeError());
      const Device &device = cluster->device();
      double peak = device.peakOf(productPrecision(device, Precision::Bf16)).value;
      table.row({preset.name.str(), std::to_string(cluster->deviceCount()), device.name, toString(device.memory),
                 flopsText(peak) + "/s", preset.summary.str()});
    }
    table.print(out);
    out << "NAME:N is N nodes (of a rack-scale machine: racks).\n";
    return 0;
  });
}

static int describe(const PlanOptions &options, OutputFile &output) {
  // Sizes do not depend on the machine; any one does when none is given.
  PlanOptions complete = options;
  if (options.cluster.empty()) {
    if (options.tokens || options.price || options.mfu)
      return fail("--tokens, --price and --mfu need a --cluster, for the peak of its devices");
    complete.cluster = clusterPresets().front().name.str();
  }
  bool isModule = llvm::StringRef(options.model).ends_with(".mlir");
  if (!isModule)
    complete.globalBatch = std::max<int64_t>(1, options.globalBatch);
  llvm::Expected<PlanInput> input = readInput(complete);
  if (!input)
    return fail(input.takeError());
  if (!isModule)
    input->job = {options.sequence, complete.globalBatch};
  if (!input->job.sequence) {
    input->job.sequence = input->model.maxPositions ? input->model.maxPositions : 4096;
    note("--seq-len is not given; sequences of " + llvm::Twine(input->job.sequence) + " tokens are assumed");
  }
  ParallelLayout layout = input->base;
  for (int key = 0; key < planKeyCount; ++key)
    if (input->constraints.isPinned(PlanKey(key)))
      setPlanValue(layout, PlanKey(key), input->constraints.pinned(PlanKey(key)));
  if (input->cluster.groups.size() > 1 && (options.tokens || options.price || options.mfu))
    return fail("--tokens, --price and --mfu count devices of one kind; cluster " + input->cluster.name +
                " has groups of several");
  PricingContext context(input->model, input->job, input->cluster, layout, input->stack);
  ModelDescription description = describeModel(context);
  if (!options.cluster.empty() && input->cluster.groups.size() == 1) {
    const Device &device = input->cluster.device();
    TokenBudget budget;
    budget.devices = double(input->cluster.deviceCount());
    budget.peak = device.peakOf(productPrecision(device, layout.precision));
    budget.tokens = options.tokens;
    budget.pricePerHour = options.price;
    budget.mfu = options.mfu;
    if (options.tokens && !options.mfu) {
      if (!isModule && (!options.sequence || !options.globalBatch))
        return fail("--tokens: give --mfu (percent), or --seq-len and --global-batch to have it predicted");
      llvm::Expected<double> mfu = predictMfu(options);
      if (!mfu)
        return fail(mfu.takeError());
      budget.mfu = *mfu;
      budget.predicted = true;
    }
    description.budget = budget;
  }
  return writeOutput(output, [&](llvm::raw_ostream &out) {
    if (options.emit == PlanOutput::Json)
      out << llvm::formatv("{0:2}\n", toJson(description));
    else
      printDescription(description, out);
    return 0;
  });
}

/// Declares the inputs of the command, and opens the output, which must be none of them.
static llvm::Expected<OutputFile> openOutput(const PlanOptions &options) {
  CommandFiles files;
  files.reads("MODEL", modelConfigPath(options.model));
  files.reads("--cluster", options.cluster);
  files.reads("--stack", options.stack);
  files.reads("--plan", options.planFile);
  files.reads("--evaluate", options.evaluateFile);
  files.needs("what the environment's PPC_LOCAL_CLUSTER names",
              llvm::sys::Process::GetEnv("PPC_LOCAL_CLUSTER").value_or(""));
  files.needs("the part of ppc-plan that reads models in MLIR", moduleLibraryPath());
  return files.writes("-o", options.output);
}

int main(int argc, char **argv) {
  reserveStandardStreams();
  ParsedCommandLine commandLine = parseCommandLine(argc, argv);
  if (!commandLine.options)
    return commandLine.exitStatus;
  const PlanOptions &options = *commandLine.options;
  llvm::Expected<OutputFile> output = openOutput(options);
  if (!output)
    return fail(output.takeError());
  Heartbeat heartbeat("reading " + (options.evaluateFile.empty() ? options.model : options.evaluateFile));
  if (options.listClusters)
    return listClusters(*output);
  if (options.listStacks)
    return writeOutput(*output, [](llvm::raw_ostream &out) {
      printTrainingSoftware(out);
      return 0;
    });
  if (options.listExports)
    return writeOutput(*output, [](llvm::raw_ostream &out) {
      printUnsaid(out);
      return 0;
    });
  if (!options.evaluateFile.empty())
    return evaluate(options, *output);
  if (options.describe)
    return describe(options, *output);
  return plan(options, *output);
}
