// The section `ops:` of a plan file: shardings that are read back as they were written, or an error that names the
// file.
#include "../Unit/Planning/TemplateModels.h"
#include "Subject.h"
#include "ppc/Planning/Files/ChainPlanFile.h"

#include <cstdint>
#include <cstdlib>

using namespace mlir::ppc;

/// Layers of one kind, and of several.
static ChainModel cutChain(bool dense) {
  ChainModel model;
  model.name = "model";
  model.chain = dense ? test::denseChain({/*layers=*/3, /*hidden=*/16, /*ffn=*/24, /*heads=*/4, /*kvHeads=*/2,
                                          /*headDim=*/4, /*vocab=*/32, /*batch=*/2, /*sequence=*/8})
                      : test::twoTowerChain(3, 64, 128, 512, 64);
  return model;
}

PPC_FUZZ_SUBJECT(OpCuts) {
  static const ChainModel models[] = {cutChain(false), cutChain(true)};
  for (const ChainModel &model : models) {
    auto cuts = parseOpCuts("file", llvm::StringRef(reinterpret_cast<const char *>(data), size), model);
    if (!cuts) {
      if (llvm::toString(cuts.takeError()).rfind("file:", 0) != 0)
        std::abort();
      continue;
    }
    if (cuts->empty())
      continue;
    std::string text;
    llvm::raw_string_ostream out(text);
    writeOpCuts(model, *cuts, out);
    auto again = parseOpCuts("again", text, model);
    if (!again || again->layers != cuts->layers)
      std::abort();
  }
  return 0;
}
