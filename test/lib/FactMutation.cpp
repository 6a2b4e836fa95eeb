// Mistakes in what the proof takes for granted: values that are constant along a sharded dimension, uneven blocks and
// their padding, and sums that stay partial over ranks and micro-batches.
#include "MutationSites.h"
#include "ProgramMutation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::ppc::test {

namespace {

/// An operand and one of its dimensions.
struct Site {
  OpOperand *operand;
  int64_t dim;
};

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// Whether the value is the same along `dim`, as its op shows.
bool isAlike(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
    return llvm::is_contained(broadcast.getDims(), dim);
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (op && op->getNumOperands() && isa<ScaleOp, NegOp, ExpOp, SiluOp, SigmoidOp, AddOp, MulOp, SubOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isAlike(operand, dim); });
  return false;
}

/// The axes of several ranks that the ranks of a stage have.
SmallVector<StringAttr> severalAxes(ModuleOp module) {
  SmallVector<StringAttr> axes;
  GridAttr grid = module->getAttrOfType<PlanAttr>(attr::plan).getGrid();
  for (StringAttr axis : grid.getNames())
    if (grid.size(axis) > 1 && axis.getValue() != "pp")
      axes.push_back(axis);
  return axes;
}

/// Dimensions that sums run over, of operands with several elements there; those along which they are alike, if any
/// are.
SmallVector<Site> summedSites(ModuleOp module) {
  SmallVector<Site> all, alike;
  module.walk([&](ReduceOp op) {
    for (int64_t dim : op.getDims()) {
      Site site{&op->getOpOperand(0), dim};
      if (op.getCombiner() != Combiner::Sum || tensorType(op.getX()).getDimSize(dim) < 2)
        continue;
      all.push_back(site);
      if (isAlike(op.getX(), dim))
        alike.push_back(site);
    }
  });
  return alike.empty() ? all : alike;
}

std::string siteText(Site site, StringRef what) {
  return what.str() + " along dimension " + std::to_string(site.dim) + " of operand " +
         std::to_string(site.operand->getOperandNumber()) + " of " + textOf(site.operand->getOwner());
}

RankedTensorType withSize(RankedTensorType type, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return RankedTensorType::get(shape, type.getElementType());
}

/// A sum runs over fewer elements than there are.
std::optional<std::string> fewerAlike(ModuleOp module, Random &random) {
  SmallVector<Site> sites = summedSites(module);
  if (sites.empty())
    return std::nullopt;
  Site site = pick(sites, random);
  OpBuilder builder(site.operand->getOwner());
  RankedTensorType type = tensorType(site.operand->get());
  int64_t size = type.getDimSize(site.dim), first = 1 + int64_t(random() % (size - 1));
  Type parts[] = {withSize(type, site.dim, first), withSize(type, site.dim, size - first)};
  auto split = SplitOp::create(builder, site.operand->getOwner()->getLoc(), parts, site.operand->get(),
                               builder.getI64IntegerAttr(site.dim));
  std::string what = siteText(site, "fewer elements");
  site.operand->set(split.getResult(random() % 2));
  return what;
}

/// A sum runs over the elements of all ranks on each of them, and perhaps over the ranks after that.
std::optional<std::string> moreAlike(ModuleOp module, Random &random) {
  SmallVector<Site> sites = summedSites(module);
  SmallVector<StringAttr> axes = severalAxes(module);
  if (sites.empty() || axes.empty())
    return std::nullopt;
  Site site = pick(sites, random);
  StringAttr axis = pick(axes, random);
  OpBuilder builder(site.operand->getOwner());
  RankedTensorType type = tensorType(site.operand->get());
  int64_t ranks = module->getAttrOfType<PlanAttr>(attr::plan).getGrid().size(axis);
  auto gathered = AllGatherOp::create(builder, site.operand->getOwner()->getLoc(),
                                      withSize(type, site.dim, ranks * type.getDimSize(site.dim)), site.operand->get(),
                                      builder.getI64IntegerAttr(site.dim), builder.getArrayAttr({axis}));
  std::string what = siteText(site, "elements of all ranks of " + axis.str());
  site.operand->set(gathered);
  return what;
}

/// The last elements of a dimension become zero on some ranks, as if they were padding.
std::optional<std::string> insertMask(ModuleOp module, Random &random) {
  SmallVector<Site> sites, alike;
  SmallVector<StringAttr> axes = severalAxes(module);
  module.walk([&](Operation *op) {
    if (!op->getDialect() || !isa<PpcDialect>(op->getDialect()))
      return;
    for (OpOperand &operand : op->getOpOperands())
      for (int64_t dim = 0; isFloat(operand.get()) && dim < tensorType(operand.get()).getRank(); ++dim) {
        sites.push_back({&operand, dim});
        if (isAlike(operand.get(), dim))
          alike.push_back(sites.back());
      }
  });
  SmallVector<Site> &from = alike.empty() || random() % 3 == 0 ? sites : alike;
  if (from.empty() || axes.empty())
    return std::nullopt;
  Site site = pick(from, random);
  StringAttr axis = pick(axes, random);
  OpBuilder builder(site.operand->getOwner());
  int64_t size = tensorType(site.operand->get()).getDimSize(site.dim);
  int64_t ranks = module->getAttrOfType<PlanAttr>(attr::plan).getGrid().size(axis);
  int64_t extent = size * ranks - 1 - int64_t(random() % std::max<int64_t>(size * (ranks - 1), 1));
  auto block = BlockAttr::get(module.getContext(), builder.getArrayAttr({axis}), std::max<int64_t>(extent, 1));
  auto mask = MaskPaddingOp::create(builder, site.operand->getOwner()->getLoc(), site.operand->get().getType(),
                                    site.operand->get(), builder.getI64IntegerAttr(site.dim), block);
  std::string what = siteText(site, "padding from element " + std::to_string(extent) + " over " + axis.str());
  site.operand->set(mask);
  return what;
}

/// A mask comes one op earlier or later: e^0 is not 0.
std::optional<std::string> moveMask(ModuleOp module, Random &random) {
  SmallVector<std::pair<Operation *, OpOperand *>> moves; // a mask, and the operand that takes its place
  module.walk([&](MaskPaddingOp op) {
    for (OpOperand &use : op->getUses())
      if (Operation *user = use.getOwner();
          user->getNumResults() == 1 && user->getResult(0).getType() == op.getType() && !isa<MaskPaddingOp>(user))
        moves.push_back({op, &use});
    if (Operation *maker = op.getX().getDefiningOp(); maker && maker->getNumResults() == 1)
      for (OpOperand &operand : maker->getOpOperands())
        if (operand.get().getType() == op.getType())
          moves.push_back({op, &operand});
  });
  if (moves.empty())
    return std::nullopt;
  auto [op, operand] = pick(moves, random);
  auto mask = cast<MaskPaddingOp>(op);
  Operation *other = operand->getOwner();
  std::string what = "moved past " + other->getName().getStringRef().str() + ": " + textOf(mask);
  OpBuilder builder(other);
  if (operand->get() == mask.getY()) { // later
    builder.setInsertionPointAfter(other);
    auto moved = MaskPaddingOp::create(builder, mask.getLoc(), mask.getType(), other->getResult(0), mask.getDimAttr(),
                                       mask.getBlock());
    other->getResult(0).replaceAllUsesExcept(moved, moved);
    operand->set(mask.getX());
    return what;
  }
  operand->set(MaskPaddingOp::create(builder, mask.getLoc(), mask.getType(), operand->get(), mask.getDimAttr(),
                                     mask.getBlock()));
  mask.getY().replaceAllUsesWith(mask.getX());
  mask.erase();
  return what;
}

/// A mask is for another dimension, or for another axis.
std::optional<std::string> otherMask(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) { return isa<MaskPaddingOp>(op); });
  SmallVector<StringAttr> axes = severalAxes(module);
  if (ops.empty() || axes.empty())
    return std::nullopt;
  auto mask = cast<MaskPaddingOp>(pick(ops, random));
  std::string what = "another dimension or axis for " + textOf(mask);
  Builder builder(module.getContext());
  if (int64_t rank = mask.getType().getRank(); rank > 1 && random() % 2) {
    mask.setDimAttr(builder.getI64IntegerAttr((int64_t(mask.getDim()) + 1 + int64_t(random() % (rank - 1))) % rank));
    return what;
  }
  auto other = builder.getArrayAttr({pick(axes, random)});
  if (other == mask.getBlock().getAxes())
    return std::nullopt;
  mask.setBlockAttr(BlockAttr::get(module.getContext(), other, mask.getBlock().getExtent()));
  return what;
}

/// Sums a replicated or already reduced tensor over the ranks once more; also within a micro-batch.
std::optional<std::string> insertAllReduce(ModuleOp module, Random &random) {
  SmallVector<OpOperand *> sites, addends;
  SmallVector<StringAttr> axes = severalAxes(module);
  module.walk([&](Operation *op) {
    if (op->getDialect() && isa<PpcDialect>(op->getDialect()))
      for (OpOperand &operand : op->getOpOperands())
        if (isFloat(operand.get())) {
          sites.push_back(&operand);
          if (isa<AddOp, SumOp, SubOp>(op))
            addends.push_back(&operand);
        }
  });
  SmallVector<OpOperand *> &from = addends.empty() || random() % 2 ? sites : addends;
  if (from.empty() || axes.empty())
    return std::nullopt;
  OpOperand *operand = pick(from, random);
  StringAttr axis = pick(axes, random);
  OpBuilder builder(operand->getOwner());
  auto reduce = AllReduceOp::create(builder, operand->getOwner()->getLoc(), operand->get().getType(), operand->get(),
                                    builder.getArrayAttr({axis}), CombinerAttr::get(module.getContext(), Combiner::Sum),
                                    DenseI64ArrayAttr());
  std::string what = "summed over " + axis.str() + " operand " + std::to_string(operand->getOperandNumber()) + " of " +
                     textOf(operand->getOwner());
  operand->set(reduce);
  return what;
}

/// Adds a term to the partial sum that was added to the complete one: all_reduce(x) + y becomes all_reduce(x + y).
std::optional<std::string> addBeforeReduce(ModuleOp module, Random &random) {
  SmallVector<OpOperand *> sites;
  module.walk([&](AllReduceOp op) {
    if (op.getCombiner() == Combiner::Sum && !op->hasAttr("ppc.channel"))
      for (OpOperand &use : op->getUses())
        if (isa<AddOp, SumOp, SubOp>(use.getOwner()))
          sites.push_back(&use);
  });
  if (sites.empty())
    return std::nullopt;
  OpOperand *use = pick(sites, random);
  auto reduce = use->get().getDefiningOp<AllReduceOp>();
  Operation *add = use->getOwner();
  std::string what = "added before " + textOf(reduce);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(add);
  auto moved = AllReduceOp::create(builder, reduce.getLoc(), reduce.getType(), add->getResult(0), reduce.getAxesAttr(),
                                   reduce.getCombinerAttr(), reduce.getStagesAttr());
  add->getResult(0).replaceAllUsesExcept(moved, moved);
  use->set(reduce.getX());
  return what;
}

/// Two dimensions of one size of an operand change places.
std::optional<std::string> turnOperand(ModuleOp module, Random &random) {
  SmallVector<std::tuple<OpOperand *, int64_t, int64_t>> sites;
  module.walk([&](Operation *op) {
    if (!op->getDialect() || !isa<PpcDialect>(op->getDialect()))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      ArrayRef<int64_t> shape = isFloat(operand.get()) ? tensorType(operand.get()).getShape() : ArrayRef<int64_t>();
      for (size_t i = 0; i < shape.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if (shape[i] == shape[j] && shape[i] > 1)
            sites.push_back({&operand, i, j});
    }
  });
  if (sites.empty())
    return std::nullopt;
  auto [operand, i, j] = pick(sites, random);
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(tensorType(operand->get()).getRank()));
  std::swap(permutation[i], permutation[j]);
  OpBuilder builder(operand->getOwner());
  std::string what = siteText({operand, i}, "exchanged with dimension " + std::to_string(j));
  operand->set(TransposeOp::create(builder, operand->getOwner()->getLoc(), operand->get().getType(), operand->get(),
                                   builder.getDenseI64ArrayAttr(permutation)));
  return what;
}

} // namespace

std::optional<std::string> mutateFacts(ModuleOp module, StringRef kind, Random &random) {
  using Mutation = std::optional<std::string> (*)(ModuleOp, Random &);
  Mutation mutation = llvm::StringSwitch<Mutation>(kind)
                          .Case("fewer-alike", fewerAlike)
                          .Case("more-alike", moreAlike)
                          .Case("insert-mask", insertMask)
                          .Case("move-mask", moveMask)
                          .Case("other-mask", otherMask)
                          .Case("insert-all-reduce", insertAllReduce)
                          .Case("add-before-reduce", addBeforeReduce)
                          .Case("turn-operand", turnOperand)
                          .Default(nullptr);
  return mutation ? mutation(module, random) : std::nullopt;
}

} // namespace mlir::ppc::test
