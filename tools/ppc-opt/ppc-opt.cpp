// ppc-opt: mlir-opt for PPC. Runs any pass or phase on a module in textual form, after a check of its depth: MLIR's
// parser is recursive.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "ppc/InitPpc.h"
#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/ModuleText.h"
#include "ppc/Support/OutputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#ifdef PPC_BUILD_TESTS
namespace mlir::ppc::test {
void registerTestPasses(); // test/lib
} // namespace mlir::ppc::test
#endif

using namespace mlir::ppc;

/// Options of MLIR that name outputs of MLIR itself.
static constexpr llvm::StringRef outputsOfMlir[] = {"log-actions-to",           "profile-actions-to",
                                                    "mlir-generate-reproducer", "mlir-pass-pipeline-crash-reproducer",
                                                    "remarks-output-file",      "mlir-print-ir-tree-dir"};

/// Opens -o. Every other word of the command line that names a file is an input: plans and machines are named in
/// options of passes.
static llvm::Expected<OutputFile> openOutput(llvm::ArrayRef<char *> arguments, llvm::StringRef path) {
  CommandFiles files;
  std::vector<std::pair<std::string, std::string>> outputs;
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    auto [name, value] = argument.ltrim('-').split('=');
    bool isOutput = llvm::is_contained(outputsOfMlir, name) || name == "o";
    if (argument.starts_with("-") && isOutput) {
      if (!argument.contains('=') && i + 1 < arguments.size())
        value = arguments[++i];
      if (name != "o" && value != "-") // standard error
        outputs.emplace_back("--" + name.str(), value.str());
      continue;
    }
    llvm::SmallVector<llvm::StringRef> words{argument};
    llvm::SplitString(argument, words, " =,{}'\"");
    for (llvm::StringRef word : words)
      files.needs("what the command line names elsewhere", word);
  }
  for (const auto &[option, file] : outputs)
    if (option != "--mlir-print-ir-tree-dir")
      if (llvm::Error error = files.checkOutput(option, file))
        return error;
  return files.writes("-o", path);
}

static int fail(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

int main(int argc, char **argv) {
  reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  for (int i = 1; i < argc; ++i) // pipelines of passes nest, too
    if (llvm::Error error = checkModuleText("argument " + std::to_string(i), argv[i]))
      return fail(std::move(error));
  mlir::DialectRegistry registry;
  registerPpcDialects(registry);
  registerPpcPasses();
#ifdef PPC_BUILD_TESTS
  test::registerTestPasses();
#endif
  auto [input, path] = mlir::registerAndParseCLIOptions(argc, argv, "PPC optimizer driver\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, path, registry));
  llvm::Expected<OutputFile> output = openOutput({argv, size_t(argc)}, path);
  if (!output)
    return fail(output.takeError());
  constexpr int64_t limit = limits::moduleBytes;
  auto buffer = input == "-" ? readStandardInput(limit) : readInputFile(input, limit);
  if (!buffer)
    return fail(llvm::createStringError(input + ": " + llvm::toString(buffer.takeError())));
  if (!(*buffer)->getBuffer().starts_with("ML\xefR")) // bytecode
    if (llvm::Error error = checkModuleText(input == "-" ? "<stdin>" : input, (*buffer)->getBuffer()))
      return fail(std::move(error));
  Heartbeat heartbeat("passes on " + input);
  bool succeeded = false;
  llvm::Error error = output->write([&](llvm::raw_ostream &out) {
    succeeded = mlir::MlirOptMain(out, std::move(*buffer), registry, config).succeeded();
    return succeeded ? llvm::Error::success() : llvm::createStringError("reported");
  });
  if (succeeded && error)
    return fail(std::move(error));
  llvm::consumeError(std::move(error));
  return succeeded ? 0 : 1;
}
