// Mutations of ops: collectives, blocks, constants, operands.
#include "ProgramMutation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Interpreter/Collectives.h"

namespace mlir::ppc::test {

ArrayRef<StringRef> mutationKinds() {
  static const StringRef kinds[] = {
      "drop-collective",  "duplicate-collective", "move-collective", "regroup-collective", "change-combiner",
      "change-dimension", "change-block",         "change-scale",    "change-attribute",   "swap-operands",
      "other-value",      "drop-addend",          "drop-mask",       "stages-of-reduce",   "swap-results",
      "swap-arguments",   "micro-batch",          "swap-actions",    "drop-message",       "repeat-action",
      "swap-messages",    "message-buffer",       "fewer-slots",     "drop-action",        "insert-scale",
      "lose-factor",      "change-spec",          "buffer-name",     "buffer-sharding",    "swap-pieces",
      "repeat-piece",     "earlier-piece",        "other-piece",     "repeat-addend"};
  return kinds;
}

template <typename T> static T &pick(SmallVectorImpl<T> &list, Random &random) { return list[random() % list.size()]; }

/// The ops of the program for which `wanted` holds.
static SmallVector<Operation *> opsWhere(ModuleOp module, function_ref<bool(Operation *)> wanted) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (wanted(op))
      ops.push_back(op);
  });
  return ops;
}

static std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto function = op->getParentOfType<func::FuncOp>();
  os << (function ? function.getSymName() : "") << ": ";
  op->print(os, OpPrintingFlags().skipRegions());
  return text.substr(0, 240);
}

static bool isCollective(Operation *op) { return bool(collectiveAxes(op)); }

static std::optional<std::string> dropCollective(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) {
    return isCollective(op) && (op->getOperand(0).getType() == op->getResult(0).getType() || isa<ReduceScatterOp>(op));
  });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  std::string what = "dropped " + textOf(op);
  Value instead = op->getOperand(0);
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    OpBuilder builder(op);
    instead = LocalSliceOp::create(builder, op->getLoc(), op->getResult(0).getType(), instead, scatter.getDimAttr(),
                                   scatter.getAxesAttr());
  }
  op->getResult(0).replaceAllUsesWith(instead);
  op->erase();
  return what;
}

static std::optional<std::string> duplicateCollective(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) {
    auto reduce = dyn_cast<AllReduceOp>(op); // over stages it would deadlock
    return reduce && !llvm::is_contained(axisNames(reduce.getAxes()), "pp");
  });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  op->getResult(0).replaceAllUsesExcept(copy->getResult(0), copy);
  copy->setOperand(0, op->getResult(0));
  return "duplicated " + textOf(op);
}

/// Moves the collective after one of its users: op(all_reduce(x)) becomes all_reduce(op(x)).
static std::optional<std::string> moveCollective(ModuleOp module, Random &random) {
  SmallVector<std::pair<Operation *, OpOperand *>> places;
  for (Operation *op :
       opsWhere(module, [](Operation *op) { return isa<AllReduceOp>(op) && !op->hasAttr("ppc.channel"); }))
    for (OpOperand &use : op->getResult(0).getUses())
      if (Operation *user = use.getOwner();
          user->getNumResults() == 1 && isa<RankedTensorType>(user->getResult(0).getType()))
        places.push_back({op, &use});
  if (places.empty())
    return std::nullopt;
  auto [op, use] = pick(places, random);
  auto reduce = cast<AllReduceOp>(op);
  Operation *user = use->getOwner();
  std::string what = "moved after " + user->getName().getStringRef().str() + ": " + textOf(op);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(user);
  auto moved = AllReduceOp::create(builder, op->getLoc(), user->getResult(0).getType(), user->getResult(0),
                                   reduce.getAxesAttr(), reduce.getCombinerAttr(), reduce.getStagesAttr());
  user->getResult(0).replaceAllUsesExcept(moved, moved);
  use->set(reduce.getX());
  return what;
}

/// Other axes of the mesh: another one, one more, one less, another order.
static ArrayAttr otherAxes(ModuleOp module, ArrayAttr axes, Random &random) {
  Builder builder(module.getContext());
  GridAttr grid = module->getAttrOfType<PlanAttr>(attr::plan).getGrid();
  SmallVector<Attribute> list(axes.begin(), axes.end()), absent;
  for (StringAttr axis : grid.getNames())
    if (grid.size(axis) > 1 && !llvm::is_contained(list, axis))
      absent.push_back(axis);
  switch (random() % 3) {
  case 0:
    if (absent.empty() || list.empty())
      return {};
    pick(list, random) = pick(absent, random);
    break;
  case 1:
    if (absent.empty())
      return {};
    list.insert(list.begin() + random() % (list.size() + 1), pick(absent, random));
    break;
  default:
    if (list.size() < 2)
      return {};
    if (random() % 2)
      std::swap(list[0], list[1]);
    else
      list.erase(list.begin() + random() % list.size());
  }
  return builder.getArrayAttr(list);
}

static std::optional<std::string> regroupCollective(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops =
      opsWhere(module, [](Operation *op) { return isCollective(op) && !op->hasAttr("ppc.channel"); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  ArrayAttr axes = otherAxes(module, collectiveAxes(op), random);
  if (!axes)
    return std::nullopt;
  std::string what = "other axes for " + textOf(op);
  op->setAttr("axes", axes);
  return what;
}

static std::optional<std::string> changeCombiner(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops =
      opsWhere(module, [](Operation *op) { return op->hasAttr("combiner") && !op->hasAttr("ppc.channel"); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  std::string what = "other combiner for " + textOf(op);
  auto combiner = op->getAttrOfType<CombinerAttr>("combiner").getValue();
  Combiner other = combiner == Combiner::Sum ? Combiner::Max : Combiner::Sum;
  if (isa<AllReduceOp>(op) && random() % 3 == 0)
    other = combiner == Combiner::LogSumExp ? Combiner::Max : Combiner::LogSumExp;
  op->setAttr("combiner", CombinerAttr::get(op->getContext(), other));
  return what;
}

static std::optional<std::string> changeDimension(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) { return isCollective(op) && op->hasAttr("dim"); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  std::string what = "other dimension for " + textOf(op);
  int64_t rank = tensorType(op->getResult(0)).getRank(), dim = op->getAttrOfType<IntegerAttr>("dim").getInt();
  if (rank < 2)
    return std::nullopt;
  // The types stay, so two dimensions change places on the way: transposed, collected, transposed back.
  int64_t other = (dim + 1 + random() % (rank - 1)) % rank;
  if (tensorType(op->getOperand(0)).getDimSize(dim) != tensorType(op->getOperand(0)).getDimSize(other) ||
      !isa<FloatType>(tensorType(op->getOperand(0)).getElementType()))
    return std::nullopt;
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[dim], permutation[other]);
  OpBuilder builder(op);
  auto turned = TransposeOp::create(builder, op->getLoc(), op->getOperand(0).getType(), op->getOperand(0),
                                    builder.getDenseI64ArrayAttr(permutation));
  op->setOperand(0, turned);
  return what;
}

static std::optional<std::string> changeBlock(ModuleOp module, Random &random) {
  SmallVector<std::pair<Operation *, StringAttr>> blocks;
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (isa<BlockAttr>(attribute.getValue()))
        blocks.push_back({op, attribute.getName()});
  });
  if (blocks.empty())
    return std::nullopt;
  auto [op, name] = pick(blocks, random);
  std::string what = "other " + name.str() + " for " + textOf(op);
  auto block = op->getAttrOfType<BlockAttr>(name);
  if (random() % 3 == 0 && !isa<MaskPaddingOp>(op)) {
    op->removeAttr(name);
    return what;
  }
  if (random() % 2) {
    op->setAttr(name, BlockAttr::get(op->getContext(), block.getAxes(), block.getExtent() + (random() % 2 ? 1 : -1)));
    return what;
  }
  ArrayAttr axes = otherAxes(module, block.getAxes(), random);
  if (!axes)
    return std::nullopt;
  op->setAttr(name, BlockAttr::get(op->getContext(), axes, block.getExtent()));
  return what;
}

static std::optional<std::string> changeScale(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) {
    auto constant = dyn_cast<ConstantOp>(op);
    return isa<ScaleOp>(op) ||
           (constant && isa<SplatElementsAttr>(constant.getValue()) &&
            isa<FloatType>(constant.getType().getElementType()) && !constant.getResult().use_empty());
  });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  std::string what = "other number for " + textOf(op);
  static const double factors[] = {2, 0.5, -1, 4};
  double factor = factors[random() % 4];
  Builder builder(op->getContext());
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    scale.setFactorAttr(builder.getF64FloatAttr(scale.getFactor().convertToDouble() * factor));
    return what;
  }
  auto constant = cast<ConstantOp>(op);
  double value = cast<SplatElementsAttr>(constant.getValue()).getSplatValue<APFloat>().convertToDouble();
  constant.setValueAttr(DenseElementsAttr::get(
      constant.getType(), builder.getFloatAttr(constant.getType().getElementType(), value ? value * factor : 1)));
  return what;
}

/// Numbers, flags and positions of ops.
static std::optional<std::string> changeAttribute(ModuleOp module, Random &random) {
  SmallVector<std::pair<Operation *, NamedAttribute>> places;
  module.walk([&](Operation *op) {
    if (!op->getDialect() || !isa<PpcDialect>(op->getDialect()) || isCollective(op) || isa<ScaleOp>(op))
      return;
    if (std::optional<RegisteredOperationName> name = op->getRegisteredInfo())
      for (StringAttr attribute : name->getAttributeNames()) {
        std::optional<Attribute> value = op->getInherentAttr(attribute);
        if (value && *value && isa<FloatAttr, UnitAttr, DenseF64ArrayAttr, DenseI64ArrayAttr, IntegerAttr>(*value) &&
            !isa<CombinerAttr>(*value))
          places.push_back({op, {attribute, *value}});
      }
    for (StringRef flag : {"causal", "inverse", "interleaved", "tanh"})
      if (isa<AttentionOp, AttentionBackwardOp, RotaryOp, GeluOp, GeluBackwardOp>(op) && !op->hasAttr(flag) &&
          llvm::is_contained(op->getRegisteredInfo()->getAttributeNames(), StringAttr::get(op->getContext(), flag)))
        places.push_back({op, {StringAttr::get(op->getContext(), flag), UnitAttr()}});
    if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getCausal())
      places.push_back(
          {op,
           {StringAttr::get(op->getContext(), "window"), IntegerAttr::get(IntegerType::get(op->getContext(), 64), 1)}});
  });
  if (places.empty())
    return std::nullopt;
  auto [op, attribute] = pick(places, random);
  std::string what = "other " + attribute.getName().str() + " for " + textOf(op);
  Builder builder(op->getContext());
  if (!attribute.getValue())
    op->setAttr(attribute.getName(), builder.getUnitAttr());
  else if (isa<UnitAttr>(attribute.getValue()))
    op->removeAttr(attribute.getName());
  else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
    op->setAttr(attribute.getName(),
                builder.getF64FloatAttr(number.getValueAsDouble() ? number.getValueAsDouble() * 0.5 : 0.25));
  else if (auto list = dyn_cast<DenseF64ArrayAttr>(attribute.getValue())) {
    SmallVector<double> values(list.asArrayRef());
    pick(values, random) *= 0.5;
    op->setAttr(attribute.getName(), builder.getDenseF64ArrayAttr(values));
  } else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue())) { // a permutation, or dimensions
    SmallVector<int64_t> values(list.asArrayRef());
    int64_t rank = tensorType(op->getOperand(0)).getRank();
    if (auto transpose = dyn_cast<TransposeOp>(op))
      std::swap(pick(values, random), pick(values, random));
    else
      pick(values, random) = random() % std::max<int64_t>(rank, 1);
    op->setAttr(attribute.getName(), builder.getDenseI64ArrayAttr(values));
  } else {
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    int64_t change = random() % 2 ? 1 : -1;
    op->setAttr(attribute.getName(),
                number ? Attribute(builder.getI64IntegerAttr(number.getInt() + change)) : attribute.getValue());
  }
  return op->getAttr(attribute.getName()) == attribute.getValue() ? std::nullopt : std::optional(what);
}

/// A sum over ranks becomes a mean, or the other way round.
static std::optional<std::string> insertScale(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(
      module, [](Operation *op) { return isa<AllReduceOp, ReduceScatterOp, SumOp, SquaredNormOp, ReduceOp>(op); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto scale = ScaleOp::create(builder, op->getLoc(), op->getResult(0).getType(), op->getResult(0),
                               builder.getF64FloatAttr(random() % 2 ? 0.5 : 2));
  op->getResult(0).replaceAllUsesExcept(scale, scale);
  return "scaled " + textOf(op);
}

/// Multiplies by a factor that underflows or overflows f32, and by one that compensates for it.
static std::optional<std::string> loseFactor(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) {
    return isa<MatmulOp, AddOp, SumOp, SubOp, AllReduceOp, ScaleOp>(op) &&
           isa<FloatType>(tensorType(op->getResult(0)).getElementType());
  });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  static const double factors[] = {1e60, 1e-60, 1e45, 1e-45, 0x1p130, 0x1p-150};
  double factor = factors[random() % 6];
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value scaled = op->getResult(0);
  llvm::SmallPtrSet<Operation *, 2> own;
  for (double next : {factor, 1 / factor}) {
    scaled = ScaleOp::create(builder, op->getLoc(), scaled.getType(), scaled, builder.getF64FloatAttr(next));
    own.insert(scaled.getDefiningOp());
  }
  op->getResult(0).replaceAllUsesExcept(scaled, own);
  std::string what;
  llvm::raw_string_ostream(what) << "scaled by " << factor << " and back " << textOf(op);
  return what;
}

/// Swaps two einsum indices of one operand of a matmul.
static std::optional<std::string> changeSpec(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) { return isa<MatmulOp>(op); });
  if (ops.empty())
    return std::nullopt;
  auto op = cast<MatmulOp>(pick(ops, random));
  std::string what = "other indices for " + textOf(op), spec = op.getSpec().str();
  unsigned number = random() % 2;
  size_t first = number ? spec.find(',') + 1 : 0;
  ArrayRef<int64_t> shape = tensorType(op->getOperand(number)).getShape();
  for (size_t i = 0; i < shape.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (shape[i] == shape[j]) {
        std::swap(spec[first + i], spec[first + j]);
        op.setSpecAttr(StringAttr::get(op->getContext(), spec));
        return what;
      }
  return std::nullopt;
}

static std::optional<std::string> swapOperands(ModuleOp module, Random &random) {
  SmallVector<std::tuple<Operation *, unsigned, unsigned>> places;
  module.walk([&](Operation *op) {
    if (!op->getDialect() || !isa<PpcDialect>(op->getDialect()) || isa<AddOp, MulOp, SumOp>(op))
      return;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      for (unsigned j = 0; j < i; ++j)
        if (op->getOperand(i).getType() == op->getOperand(j).getType() && op->getOperand(i) != op->getOperand(j))
          places.push_back({op, i, j});
  });
  if (places.empty())
    return std::nullopt;
  auto [op, i, j] = pick(places, random);
  std::string what = "swapped operands " + std::to_string(j) + " and " + std::to_string(i) + " of " + textOf(op);
  Value first = op->getOperand(i);
  op->setOperand(i, op->getOperand(j));
  op->setOperand(j, first);
  return what;
}

/// Uses another existing value of the same type: stale, of another layer, another parameter.
static std::optional<std::string> otherValue(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) {
    return op->getNumOperands() && ((op->getDialect() && isa<PpcDialect>(op->getDialect())) || isa<func::ReturnOp>(op));
  });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  unsigned number = random() % op->getNumOperands();
  SmallVector<Value> candidates;
  Value now = op->getOperand(number);
  for (BlockArgument argument : op->getBlock()->getArguments())
    candidates.push_back(argument);
  for (Operation *before = &op->getBlock()->front(); before != op; before = before->getNextNode())
    candidates.append(before->result_begin(), before->result_end());
  llvm::erase_if(candidates, [&](Value value) { return value == now || value.getType() != now.getType(); });
  if (candidates.empty())
    return std::nullopt;
  std::string what = "another value for operand " + std::to_string(number) + " of " + textOf(op);
  op->setOperand(number, pick(candidates, random));
  return what;
}

static std::optional<std::string> dropAddend(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops =
      opsWhere(module, [](Operation *op) { return isa<AddOp, SumOp, SubOp>(op) && op->getNumOperands() > 1; });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  unsigned number = random() % op->getNumOperands();
  std::string what = "dropped operand " + std::to_string(number) + " of " + textOf(op);
  if (isa<SumOp>(op))
    op->eraseOperand(number);
  else
    op->getResult(0).replaceAllUsesWith(op->getOperand(1 - number));
  return what;
}

/// Counts an addend twice: of a micro-batch, a stage or a use of a parameter.
static std::optional<std::string> repeatAddend(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) { return isa<AddOp, SumOp, SubOp>(op); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  OpOperand &operand = op->getOpOperand(random() % op->getNumOperands());
  std::string what = "repeated operand " + std::to_string(operand.getOperandNumber()) + " of " + textOf(op);
  OpBuilder builder(op);
  operand.set(AddOp::create(builder, op->getLoc(), operand.get(), operand.get()));
  return what;
}

static std::optional<std::string> dropMask(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops = opsWhere(module, [](Operation *op) { return isa<MaskPaddingOp>(op); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  std::string what = "dropped " + textOf(op);
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return what;
}

/// All-reduces between stages: skipped on all of their stages.
static std::optional<std::string> stagesOfReduce(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops =
      opsWhere(module, [](Operation *op) { return isa<AllReduceOp>(op) && op->hasAttr("ppc.channel"); });
  if (ops.empty())
    return std::nullopt;
  Operation *op = pick(ops, random);
  Attribute channel = op->getAttr("ppc.channel");
  std::string what = "skipped on all stages " + textOf(op);
  for (Operation *other : ops)
    if (other->getAttr("ppc.channel") == channel) {
      other->getResult(0).replaceAllUsesWith(other->getOperand(0));
      other->erase();
    }
  return what;
}

std::optional<std::string> mutateProgram(ModuleOp module, StringRef kind, Random &random) {
  using Mutation = std::optional<std::string> (*)(ModuleOp, Random &);
  static const std::pair<StringRef, Mutation> mutations[] = {
      {"drop-collective", dropCollective},   {"duplicate-collective", duplicateCollective},
      {"move-collective", moveCollective},   {"regroup-collective", regroupCollective},
      {"change-combiner", changeCombiner},   {"change-dimension", changeDimension},
      {"change-block", changeBlock},         {"change-scale", changeScale},
      {"change-attribute", changeAttribute}, {"swap-operands", swapOperands},
      {"other-value", otherValue},           {"drop-addend", dropAddend},
      {"repeat-addend", repeatAddend},       {"drop-mask", dropMask},
      {"stages-of-reduce", stagesOfReduce},  {"insert-scale", insertScale},
      {"lose-factor", loseFactor},           {"change-spec", changeSpec}};
  for (auto [name, mutation] : mutations)
    if (name == kind)
      return mutation(module, random);
  if (kind.contains("piece"))
    return mutatePieces(module, kind, random);
  return mutateStages(module, kind, random);
}

} // namespace mlir::ppc::test
