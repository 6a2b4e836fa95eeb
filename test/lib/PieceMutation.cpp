// Mistakes in what is cut into pieces and put together again: products beside their collectives (ppc-cut-products).
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

/// What is put together of several.
static SmallVector<ConcatOp> joins(ModuleOp module) {
  SmallVector<ConcatOp> found;
  module.walk([&](ConcatOp op) {
    if (op->getNumOperands() > 1)
      found.push_back(op);
  });
  return found;
}

/// Two pieces change places; they may differ in size.
static std::optional<std::string> swapPieces(ConcatOp op, Random &random) {
  unsigned first = random() % op->getNumOperands(), second = random() % op->getNumOperands();
  if (op->getOperand(first) == op->getOperand(second))
    return std::nullopt;
  std::string what =
      "exchanged pieces " + std::to_string(first) + " and " + std::to_string(second) + " of " + printed(op);
  Value value = op->getOperand(first);
  op->setOperand(first, op->getOperand(second));
  op->setOperand(second, value);
  return what;
}

/// One piece is there twice, another one is not.
static std::optional<std::string> repeatPiece(ConcatOp op, Random &random) {
  unsigned from = random() % op->getNumOperands(), to = random() % op->getNumOperands();
  if (op->getOperand(from) == op->getOperand(to) || op->getOperand(from).getType() != op->getOperand(to).getType())
    return std::nullopt;
  std::string what =
      "piece " + std::to_string(from) + " in the place of piece " + std::to_string(to) + " of " + printed(op);
  op->setOperand(to, op->getOperand(from));
  return what;
}

/// A piece as it was before what was done to it last, as the all-reduce.
static std::optional<std::string> earlierPiece(ConcatOp op, Random &random) {
  unsigned number = random() % op->getNumOperands();
  Operation *last = op->getOperand(number).getDefiningOp();
  if (!last || !last->getNumOperands() || last->getOperand(0).getType() != op->getOperand(number).getType())
    return std::nullopt;
  std::string what = "piece " + std::to_string(number) + " before " + printed(last);
  op->setOperand(number, last->getOperand(0));
  return what;
}

/// What takes a piece takes another one of the same whole.
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
      "another piece for operand " + std::to_string(use->getOperandNumber()) + " of " + printed(use->getOwner());
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
