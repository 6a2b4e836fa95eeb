// config.json of a model: a shape whose parameters and operations can be counted, or an error that names the file.
#include "Subject.h"
#include "ppc/Model/ModelConfig.h"

#include <cstdint>
#include <cstdlib>

using namespace mlir::ppc;

PPC_FUZZ_SUBJECT(ModelConfig) {
  llvm::Expected<ModelConfig> config =
      parseModelConfig("file", llvm::StringRef(reinterpret_cast<const char *>(data), size));
  if (!config) {
    if (llvm::toString(config.takeError()).rfind("file", 0) != 0)
      std::abort();
    return 0;
  }
  if (config->shape.layers < 1 || config->shape.vocab < 1 || config->shape.hidden < 1)
    std::abort();
  return 0;
}
