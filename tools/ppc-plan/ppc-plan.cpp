// ppc-plan: decides how a model is laid out on a cluster, or prices layouts that are given.
#include "Options.h"
#include "ppc/CostModel/LayoutRows.h"
#include "ppc/Reporting/ModelDescription.h"
#include "ppc/Reporting/TextTable.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir::ppc;

/// Messages are one line; readers may have put `error: ` behind file, line and column already.
static int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return 1;
}

static int fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

static void note(const llvm::Twine &message) { llvm::errs() << "note: " << message << '\n'; }

/// Runs `print` on the output file. Errors: it cannot be opened or written.
static int writeOutput(const PlanOptions &options, llvm::function_ref<int(llvm::raw_ostream &)> print) {
  std::error_code problem;
  llvm::ToolOutputFile file(options.output, problem, llvm::sys::fs::OF_None);
  if (problem)
    return fail("cannot write " + options.output + ": " + problem.message());
  if (int status = print(file.os()))
    return status;
  file.os().flush();
  if (file.os().has_error()) {
    std::string text = file.os().error().message();
    file.os().clear_error();
    return fail("cannot write " + options.output + ": " + text);
  }
  file.keep();
  return 0;
}

static int evaluate(const PlanOptions &options) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.evaluateFile);
  if (!buffer)
    return fail(options.evaluateFile + ": " + buffer.getError().message());
  llvm::Expected<std::vector<LayoutRow>> rows = readLayoutRows(options.evaluateFile, (*buffer)->getBuffer());
  if (!rows)
    return fail(rows.takeError());
  return writeOutput(options, [&](llvm::raw_ostream &out) {
    evaluateRows(*rows, out);
    return 0;
  });
}

static int listClusters(const PlanOptions &options) {
  return writeOutput(options, [&](llvm::raw_ostream &out) {
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

/// The cluster that the options ask for, with --devices of it only.
static llvm::Expected<Cluster> readCluster(const PlanOptions &options) {
  llvm::Expected<Cluster> cluster = findCluster(options.cluster);
  if (!cluster || !options.devices)
    return cluster;
  return restrictCluster(*cluster, options.devices);
}

static int describe(const PlanOptions &options) {
  llvm::Expected<ModelShape> model = readModelShape(options.model);
  if (!model)
    return fail(model.takeError());
  // Sizes do not depend on the machine; any one does when none is given.
  PlanOptions machine = options;
  if (machine.cluster.empty())
    machine.cluster = clusterPresets().front().name.str();
  llvm::Expected<Cluster> cluster = readCluster(machine);
  if (!cluster)
    return fail(cluster.takeError());
  llvm::Expected<Stack> stack = findStack(options.stack);
  if (!stack)
    return fail(stack.takeError());
  TrainingJob job{options.sequence, std::max<int64_t>(1, options.globalBatch)};
  if (!job.sequence) {
    job.sequence = model->maxPositions ? model->maxPositions : 4096;
    note("--seq-len is not given; sequences of " + llvm::Twine(job.sequence) + " tokens are assumed");
  }
  ParallelLayout layout;
  PricingContext context(*model, job, *cluster, layout, *stack);
  ModelDescription description = describeModel(context);
  if (!options.cluster.empty()) {
    TokenBudget budget;
    budget.devices = double(cluster->deviceCount());
    budget.peak = cluster->device().peakOf(productPrecision(cluster->device(), layout.precision));
    budget.tokens = options.tokens;
    budget.pricePerHour = options.price;
    budget.mfu = options.mfu;
    description.budget = budget;
  } else if (options.tokens || options.price || options.mfu) {
    return fail("--tokens, --price and --mfu need a --cluster, for the peak of its devices");
  }
  return writeOutput(options, [&](llvm::raw_ostream &out) {
    if (options.emit == PlanOutput::Json)
      out << llvm::formatv("{0:2}\n", toJson(description));
    else
      printDescription(description, out);
    return 0;
  });
}

int main(int argc, char **argv) {
  ParsedCommandLine commandLine = parseCommandLine(argc, argv);
  if (!commandLine.options)
    return commandLine.exitStatus;
  const PlanOptions &options = *commandLine.options;
  if (options.listClusters)
    return listClusters(options);
  if (!options.evaluateFile.empty())
    return evaluate(options);
  if (options.describe)
    return describe(options);
  return fail("this build has no search; --describe and --evaluate work");
}
