// The shape that planner tests estimate: layers of Llama 3 8B.
#ifndef PPC_TEST_UNIT_MODEL_LLAMASHAPE_H
#define PPC_TEST_UNIT_MODEL_LLAMASHAPE_H

#include "ppc/Model/ModelShape.h"

namespace mlir::ppc {

inline ModelShape llamaShape(int64_t layers, int64_t vocabulary = 128256) {
  ModelShape model;
  model.name = "llama";
  model.layers = layers;
  model.hidden = 4096;
  model.heads = 32;
  model.kvHeads = 8;
  model.headDim = 128;
  model.ffn = 14336;
  model.gated = true;
  model.vocab = vocabulary;
  return model;
}

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_MODEL_LLAMASHAPE_H
