// What torchtitan's TOML of 0.2.2 and its Python configuration of 0.3.0 say alike.
#include "Exporters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::torchSchedule(llvm::StringRef schedule) {
  return llvm::StringSwitch<llvm::StringRef>(schedule)
      .Case("gpipe", "GPipe")
      .Case("1f1b", "1F1B")
      .Case("interleaved", "Interleaved1F1B")
      .Case("breadth-first", "LoopedBFS")
      .Case("zbv", "ZBVZeroBubble")
      .Case("dualpipev", "DualPipeV")
      .Default("");
}

std::string mlir::ppc::torchStages(llvm::ArrayRef<int64_t> counts, llvm::ArrayRef<llvm::StringRef> last) {
  std::vector<std::string> stages;
  int64_t layer = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<std::string> names;
    if (i == 0)
      names.push_back("\"tok_embeddings\"");
    for (int64_t j = 0; j < counts[i]; ++j)
      names.push_back("\"layers." + std::to_string(layer++) + "\"");
    if (i + 1 == counts.size())
      for (llvm::StringRef name : last)
        names.push_back(("\"" + name + "\"").str());
    stages.push_back("[" + llvm::join(names, ", ") + "]");
  }
  return "[" + llvm::join(stages, ", ") + "]";
}

/// Of both versions: llama3, qwen3 and deepseek_v3 with these flavors. The base of 405B is not llama3_405b, which
/// converts to 8 bits and needs a device for it.
static constexpr TorchtitanModel models[] = {
    {"llama3", "8B", "llama3_8b", 32, 4096, 0, 131072},
    {"llama3", "70B", "llama3_70b", 80, 8192, 0, 131072},
    {"llama3", "405B", "llama3_70b", 126, 16384, 0, 131072},
    {"qwen3", "0.6B", "qwen3_0_6b", 28, 1024, 0, 40960},
    {"qwen3", "1.7B", "qwen3_1_7b", 28, 2048, 0, 40960},
    {"qwen3", "4B", "qwen3_14b", 36, 2560, 0, 40960},
    {"qwen3", "8B", "qwen3_14b", 36, 4096, 0, 40960},
    {"qwen3", "14B", "qwen3_14b", 40, 5120, 0, 40960},
    {"qwen3", "32B", "qwen3_32b", 64, 5120, 0, 40960},
    {"qwen3", "30B-A3B", "qwen3_30b_a3b", 48, 2048, 128, 40960},
    {"qwen3", "235B-A22B", "qwen3_30b_a3b", 94, 4096, 128, 40960},
    {"deepseek_v3", "16B", "deepseek_v3_16b", 27, 2048, 64, 16384},
    {"deepseek_v3", "671B", "deepseek_v3_671b", 61, 7168, 256, 16384},
};

const TorchtitanModel *mlir::ppc::torchtitanModel(const ModelShape &model) {
  llvm::StringRef family = model.family == "llama"       ? "llama3"
                           : model.family == "qwen3_moe" ? "qwen3"
                                                         : llvm::StringRef(model.family);
  const TorchtitanModel *found = llvm::find_if(models, [&](const TorchtitanModel &each) {
    return each.module == family && each.layers == model.layers && each.hidden == model.hidden &&
           each.experts == model.moe.experts;
  });
  return found == std::end(models) ? nullptr : found;
}

int64_t mlir::ppc::ropeBase(const TorchtitanModel &model) {
  return llvm::StringSwitch<int64_t>(model.module).Case("llama3", 500000).Case("qwen3", 1000000).Default(10000);
}
