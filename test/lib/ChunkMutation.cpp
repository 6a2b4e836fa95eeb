// Mutations of chunked matmuls and collectives (`ppc-cut-products`): the chunks and their concatenation.
#include "ProgramMutation.h"
#include "dialects/ppc/Ppc.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::ppc::test {

static std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().skipRegions());
  return text.substr(0, 240);
}

/// Concatenations of several values.
static SmallVector<ConcatOp> joins(ModuleOp module) {
  SmallVector<ConcatOp> found;
  module.walk([&](ConcatOp op) {
    if (op->getNumOperands() > 1)
      found.push_back(op);
  });
  return found;
}

/// Swaps two chunks, which may differ in size.
static std::optional<std::string> swapPieces(ConcatOp op, Random &random) {
  unsigned first = random() % op->getNumOperands(), second = random() % op->getNumOperands();
  if (op->getOperand(first) == op->getOperand(second))
    return std::nullopt;
  std::string what =
      "exchanged chunks " + std::to_string(first) + " and " + std::to_string(second) + " of " + printed(op);
  Value value = op->getOperand(first);
  op->setOperand(first, op->getOperand(second));
  op->setOperand(second, value);
  return what;
}

/// Uses one chunk twice and drops another one.
static std::optional<std::string> repeatPiece(ConcatOp op, Random &random) {
  unsigned from = random() % op->getNumOperands(), to = random() % op->getNumOperands();
  if (op->getOperand(from) == op->getOperand(to) || op->getOperand(from).getType() != op->getOperand(to).getType())
    return std::nullopt;
  std::string what = "chunk " + std::to_string(from) + " instead of chunk " + std::to_string(to) + " of " + printed(op);
  op->setOperand(to, op->getOperand(from));
  return what;
}

/// Takes a chunk before its last op, such as an all-reduce.
static std::optional<std::string> earlierPiece(ConcatOp op, Random &random) {
  unsigned number = random() % op->getNumOperands();
  Operation *last = op->getOperand(number).getDefiningOp();
  if (!last || !last->getNumOperands() || last->getOperand(0).getType() != op->getOperand(number).getType())
    return std::nullopt;
  std::string what = "piece " + std::to_string(number) + " before " + printed(last);
  op->setOperand(number, last->getOperand(0));
  return what;
}

/// Replaces a chunk operand by another chunk of the same value.
static std::optional<std::string> otherPiece(ModuleOp module, Random &random) {
  SmallVector<std::pair<OpOperand *, Value>> places;
  module.walk([&](SplitOp op) {
    for (Value part : op.getParts())
      for (OpOperand &use : part.getUses())
        for (Value other : op.getParts())
          if (other != part && other.getType() == part.getType())
            places.push_back({&use, other});
  });
  if (places.empty())
    return std::nullopt;
  auto [use, other] = places[random() % places.size()];
  std::string what =
      "another chunk for operand " + std::to_string(use->getOperandNumber()) + " of " + printed(use->getOwner());
  use->set(other);
  return what;
}

std::optional<std::string> mutatePieces(ModuleOp module, StringRef kind, Random &random) {
  if (kind == "other-piece")
    return otherPiece(module, random);
  using Mutation = std::optional<std::string> (*)(ConcatOp, Random &);
  Mutation mutation = llvm::StringSwitch<Mutation>(kind)
                          .Case("swap-pieces", swapPieces)
                          .Case("repeat-piece", repeatPiece)
                          .Case("earlier-piece", earlierPiece)
                          .Default(nullptr);
  SmallVector<ConcatOp> places = mutation ? joins(module) : SmallVector<ConcatOp>();
  return places.empty() ? std::nullopt : mutation(places[random() % places.size()], random);
}

} // namespace mlir::ppc::test
