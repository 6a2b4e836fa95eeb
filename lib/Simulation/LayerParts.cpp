#include "LayerParts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

static LayerPart partOf(const LayerOp &op, Seconds taken, Seconds link, bool again) {
  LayerPart part;
  part.op = &op;
  part.communication = op.kind == OpClass::Communication;
  part.again = again;
  part.taken = std::max(Seconds(0), taken);
  if (part.communication)
    part.beside = std::max(Seconds(0), link - part.taken);
  return part;
}

std::vector<LayerPart> mlir::ppc::layerParts(const LayerWork &layer, PipelineActionKind pass, bool selective) {
  std::vector<LayerPart> parts;
  llvm::ArrayRef<LayerOp> ops = layer.program ? llvm::ArrayRef<LayerOp>(layer.program->ops) : llvm::ArrayRef<LayerOp>();
  // Without weight gradients of their own they are part of backward.
  bool whole = layer.weightGradient.value <= 0;
  Seconds taken, exposed;
  switch (pass) {
  case PipelineActionKind::Forward:
    taken = layer.forward;
    exposed = totalTime(layer.forwardExposed);
    for (const LayerOp &op : ops)
      parts.push_back(partOf(op, op.forward, op.forwardLink, false));
    break;
  case PipelineActionKind::Backward:
    taken = layer.backward;
    exposed = totalTime(layer.backwardExposed);
    for (const LayerOp &op : ops)
      if (layer.recomputed || op.recomputed || (selective && op.attentionCore))
        parts.push_back(partOf(op, op.forward, op.forwardLink, true));
    for (const LayerOp &op : llvm::reverse(ops))
      parts.push_back(partOf(op, whole ? op.backward + op.weightGradient : op.backward, op.backwardLink, false));
    break;
  case PipelineActionKind::WeightGradient:
    taken = layer.weightGradient;
    for (const LayerOp &op : llvm::reverse(ops))
      parts.push_back(partOf(op, op.weightGradient, Seconds(0), false));
    break;
  }
  llvm::erase_if(parts, [](const LayerPart &part) { return part.taken.value <= 0 && part.beside.value <= 0; });
  auto fit = [&](bool communication, Seconds wanted) {
    Seconds sum;
    for (const LayerPart &part : parts)
      sum += part.communication == communication ? part.taken : Seconds(0);
    if (sum < wanted && !(communication && sum.value > 0)) {
      LayerPart rest;
      rest.communication = communication;
      rest.taken = wanted - sum;
      parts.push_back(rest);
      return;
    }
    double scale = sum.value > 0 ? wanted / sum : 1;
    for (LayerPart &part : parts)
      if (part.communication == communication)
        part.taken = scale * part.taken;
  };
  fit(/*communication=*/true, exposed);
  fit(/*communication=*/false, std::max(Seconds(0), taken - exposed));
  return parts;
}
