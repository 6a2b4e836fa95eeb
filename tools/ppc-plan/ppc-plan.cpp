// ppc-plan: decides how a model is laid out on a cluster, or prices layouts that are given.
#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/LayoutRows.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir::ppc;
namespace cl = llvm::cl;

static cl::OptionCategory category("ppc-plan options");
static cl::opt<std::string> evaluateFile("evaluate", cl::desc("predict one row per configuration of a CSV table, search nothing"),
                                         cl::value_desc("rows.csv"), cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::desc("where the result goes (default: standard output)"), cl::value_desc("file"),
                                       cl::init("-"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error() << message << '\n';
  return 1;
}

static int evaluate() {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(evaluateFile);
  if (!buffer)
    return fail(evaluateFile + ": " + buffer.getError().message());
  llvm::Expected<std::vector<LayoutRow>> rows = readLayoutRows(evaluateFile, (*buffer)->getBuffer());
  if (!rows)
    return fail(llvm::toString(rows.takeError()));
  std::error_code error;
  llvm::ToolOutputFile out(outputFile, error, llvm::sys::fs::OF_Text);
  if (error)
    return fail(outputFile + ": " + error.message());
  evaluateRows(*rows, out.os());
  out.keep();
  return 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Decides how a model is trained on a cluster.\n");
  if (!evaluateFile.empty())
    return evaluate();
  llvm::WithColor::error() << "nothing to do: see --help\n";
  return 2;
}
