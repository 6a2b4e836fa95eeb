// ppc-module-reader: the part of ppc-plan that knows MLIR.
#include "ModuleReader.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Analysis/ModuleFile.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/ProgramChain.h"
#include "ppc/Analysis/UserMessage.h"
#include "ppc/Import/HuggingFace.h"
#include "ppc/Phases/TrainRefusals.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

/// Sizes that names of dimensions suggest must do the work that the program does.
static std::string mismatch(const ModelShape &shape, const TrainingJob &job, const TemplateChain &chain) {
  double tokens = double(job.sequence) * double(job.globalBatch);
  double said = forwardFlopsPerToken(shape, job.sequence, /*causal=*/false).total() * tokens,
         done = productFlops(chain);
  if (std::abs(said - done) <= 0.02 * said)
    return "";
  return llvm::formatv(
      "its dimensions are named like a transformer's, but its matmuls do {0:F1} % of such a transformer's work",
      100 * done / said);
}

static OwningOpRef<ModuleOp> readFile(const char *file, const TrainingJob &job, MLIRContext &context,
                                      std::string &error) {
  if (llvm::StringRef(file).ends_with(".mlir"))
    return readModuleFile(file, context);
  auto refuse = [&](llvm::Error problem) {
    error = llvm::toString(std::move(problem));
    return OwningOpRef<ModuleOp>();
  };
  llvm::Expected<ModelConfig> config = readModelConfig(file);
  if (!config)
    return refuse(config.takeError());
  HuggingFaceOptions options;
  options.sequenceLength = job.sequence;
  options.globalBatch = job.globalBatch;
  llvm::Expected<OwningOpRef<ModuleOp>> module = buildModel(*config, options, context);
  if (!module)
    return refuse(module.takeError());
  recordModelShape(**module, config->shape);
  return std::move(*module);
}

static bool readModel(const char *file, const TrainingJob &asked, ModuleModel &model, std::string &error) {
  DialectRegistry registry;
  registry.insert<PpcDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { keepFirstError(diagnostic, error); });
  OwningOpRef<ModuleOp> module = readFile(file, asked, context, error);
  if (!module)
    return false;
  PassManager passes(&context);
  passes.addPass(createVerifyModelPass()); // as the phase import does
  if (failed(passes.run(*module)))
    return false;
  FailureOr<ProgramChain> program = readProgramChain(*module);
  if (failed(program))
    return false;
  model.chain = std::move(program->model);
  if (llvm::StringRef(file).ends_with(".mlir")) // imported models are known to train
    model.chain.refusals.addOf(trainRefusals(*module));
  if (!module->getSymName())
    model.chain.name = llvm::sys::path::stem(file).str();
  model.precision = program->precision;
  llvm::Expected<TrainingJob> job = trainingJobOf(*module);
  llvm::Expected<ModelShape> shape = modelShapeOf(*module);
  if (job && shape) {
    model.job = *job;
    if (!(*module)->hasAttr("ppc.shape"))
      model.notTransformer = mismatch(*shape, *job, model.chain.chain);
    if (model.notTransformer.empty())
      model.shape = std::move(*shape);
    return true;
  }
  if (!shape)
    model.notTransformer = llvm::toString(shape.takeError());
  if (!job) {
    std::string reason = llvm::toString(job.takeError());
    if (model.notTransformer.empty())
      model.notTransformer = reason;
  }
  return true;
}

extern "C" __attribute__((visibility("default"))) bool ppcReadModule(const char *path, const TrainingJob *job,
                                                                     ModuleModel *model, std::string *error) {
  if (readModel(path, *job, *model, *error))
    return true;
  if (error->empty())
    *error = std::string(path) + ": the module cannot be read";
  return false;
}
