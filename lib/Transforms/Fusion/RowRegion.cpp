// Ops that can share the rows of a kernel, and the offsets of their operands.
#include "ppc/Transforms/Fusion/RowRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/RowPhases.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

namespace mlir::ppc {

float Combination::neutral() const {
  if (isa<arith::AddFOp>(op))
    return 0;
  if (isa<arith::MulFOp>(op))
    return 1;
  return isa<arith::MaximumFOp, arith::MaxNumFOp>(op) ? -INFINITY : INFINITY;
}

std::optional<Combination> combinationOf(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Block &body = op->getRegion(0).front();
  Value y = body.getArguments().back();
  Operation *combine = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
                       arith::MinNumFOp>(combine) ||
      !y.hasOneUse() || *y.user_begin() != combine || combine->getBlock() != &body ||
      !combine->getResult(0).hasOneUse() || !y.getType().isF32())
    return std::nullopt;
  return Combination{combine, combine->getOperand(combine->getOperand(0) == y ? 1 : 0)};
}

static int64_t product(ArrayRef<int64_t> sizes) { return ShapedType::getNumElements(sizes); }

/// Whether the op only computes on its elements, whose widths are multiples of a byte, of buffers with known
/// offsets.
static bool isPlain(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    if (!type.hasStaticShape() || !type.isStrided() || !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() % 8 || type.getNumElements() == 0)
      return false;
  }
  if (!op.hasPureBufferSemantics() || llvm::is_contained(op.getStaticLoopRanges(), ShapedType::kDynamic))
    return false;
  return llvm::all_of(op->getRegion(0).front().without_terminator(), [](Operation &inner) {
    return inner.getNumRegions() == 0 && isMemoryEffectFree(&inner) &&
           llvm::none_of(inner.getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
  });
}

static SmallVector<bool> reductionLoops(linalg::LinalgOp op) {
  return llvm::map_to_vector(op.getIteratorTypesArray(),
                             [](utils::IteratorType type) { return type == utils::IteratorType::reduction; });
}

/// The index at which loops split into those before, which cover `before` iterations, and the rest, which cover
/// `after`.
static std::optional<unsigned> cutLoops(ArrayRef<int64_t> sizes, int64_t before, int64_t after) {
  for (unsigned cut = 0; cut <= sizes.size(); ++cut)
    if (product(sizes.take_front(cut)) == before && product(sizes.drop_front(cut)) == after)
      return cut;
  return std::nullopt;
}

static std::optional<RowMember> memberOf(linalg::LinalgOp op, const RowDomain &domain) {
  RowMember member;
  member.op = op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<bool> reduces = reductionLoops(op);
  unsigned loops = unsigned(sizes.size()), summed = unsigned(llvm::count(reduces, true));
  auto areReduced = [&](unsigned from, unsigned to, bool wanted) {
    return llvm::all_of(llvm::seq(from, to), [&](unsigned i) { return sizes[i] == 1 || reduces[i] == wanted; });
  };
  auto cut = cutLoops(sizes, domain.rows, domain.length);
  if (summed == 0 && product(sizes) == domain.rows) {
    member.role = RowRole::Row;
    member.firstColumn = loops;
  } else if (summed == 0 && cut) {
    member.role = RowRole::Element;
    member.firstColumn = *cut;
  } else if (summed == 0 && domain.chunks) {
    cut = cutLoops(sizes, domain.chunks, domain.length);
    if (!cut || op.getNumDpsInputs() > 1 || op.getNumDpsInits() != 1)
      return std::nullopt;
    member.role = RowRole::ChunkStart;
    member.firstColumn = *cut;
  } else if (summed && cut && areReduced(0, *cut, false) && areReduced(*cut, loops, true) && combinationOf(op)) {
    member.role = RowRole::RowReduction;
    member.firstColumn = *cut;
  } else if (summed && cut && domain.chunks && areReduced(*cut, loops, false)) {
    auto combination = combinationOf(op);
    auto chunk = cutLoops(ArrayRef(sizes).take_front(*cut), domain.chunks, domain.rows / domain.chunks);
    if (!combination || !isa<arith::AddFOp>(combination->op) || !chunk || !areReduced(0, *chunk, false) ||
        !areReduced(*chunk, *cut, true))
      return std::nullopt;
    member.role = RowRole::ColumnSum;
    member.firstColumn = *cut;
  } else {
    return std::nullopt;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto pattern = patternOf(op, operand);
    if (!pattern) {
      member.places.push_back(std::nullopt);
      continue;
    }
    ArrayRef<int64_t> all = sizes, steps = pattern->steps;
    member.places.push_back(RowPlace{
        pattern->constant, mergeLoops(all.take_front(member.firstColumn), steps.take_front(member.firstColumn)),
        mergeLoops(all.drop_front(member.firstColumn), steps.drop_front(member.firstColumn))});
  }
  return member;
}

/// The domain that a reduction requires; std::nullopt for other ops, or if it has another form.
static std::optional<RowDomain> domainOf(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<bool> reduces = reductionLoops(op);
  auto first = llvm::find(reduces, true), end = reduces.end();
  if (first == end)
    return std::nullopt;
  auto behind = std::find(first, end, false);
  unsigned begin = unsigned(first - reduces.begin()), stop = unsigned(behind - reduces.begin());
  ArrayRef<int64_t> all = sizes;
  if (behind == end)
    return RowDomain{product(all.take_front(begin)), product(all.drop_front(begin)), 0};
  if (begin == 0 || std::find(behind, end, true) != end)
    return std::nullopt;
  return RowDomain{product(all.take_front(stop)), product(all.drop_front(stop)), product(all.take_front(begin))};
}

static bool refuse(std::string *why, const llvm::Twine &reason) {
  if (why)
    *why = reason.str();
  return false;
}

std::optional<RowRegion> RowRegion::of(ArrayRef<linalg::LinalgOp> ops, std::string *why, bool isPart) {
  std::optional<RowDomain> domain;
  linalg::LinalgOp largest;
  int64_t most = 0;
  for (linalg::LinalgOp op : ops) {
    if (!isPlain(op)) {
      refuse(why, "an op does more than arithmetic on elements");
      return std::nullopt;
    }
    bool reduces = llvm::is_contained(reductionLoops(op), true);
    std::optional<RowDomain> own = domainOf(op);
    if (reduces && !own) {
      refuse(why, "a reduction is neither of rows nor of columns of chunks");
      return std::nullopt;
    }
    if (own && domain) {
      if (own->rows != domain->rows || own->length != domain->length ||
          (own->chunks && domain->chunks && own->chunks != domain->chunks)) {
        refuse(why, "the rows are others");
        return std::nullopt;
      }
      domain->chunks = std::max(domain->chunks, own->chunks);
    } else if (own) {
      domain = own;
    }
    if (int64_t size = product(op.getStaticLoopRanges()); size > most) {
      most = size;
      largest = op;
    }
  }
  SmallVector<RowDomain> candidates;
  if (domain) {
    candidates.push_back(*domain);
  } else {
    SmallVector<int64_t> sizes = largest.getStaticLoopRanges();
    for (size_t cut = sizes.size(); cut-- > 0;)
      if (int64_t length = product(ArrayRef(sizes).drop_front(cut)); length > 1)
        candidates.push_back({most / length, length, 0});
  }
  refuse(why, "the loops are others");
  for (const RowDomain &candidate : candidates) {
    RowRegion region;
    region.domain = candidate;
    for (linalg::LinalgOp op : ops)
      if (auto member = memberOf(op, candidate))
        region.members.push_back(*member);
    if (candidate.length > 1 && region.members.size() == ops.size() && region.fits(why, isPart))
      return region;
  }
  return std::nullopt;
}

bool RowRegion::hasRole(RowRole role) const {
  return llvm::any_of(members, [&](const RowMember &member) { return member.role == role; });
}

/// True if no two iterations access one element.
static bool isInjective(const RowPlace &place, int64_t rows, int64_t columns) {
  SmallVector<LoopSpan> spans(place.rows);
  llvm::append_range(spans, place.columns);
  if ((rows > 1 && place.rows.empty()) || (columns > 1 && place.columns.empty()))
    return false;
  llvm::sort(spans, [](const LoopSpan &a, const LoopSpan &b) { return a.step < b.step; });
  int64_t covered = 1;
  for (const LoopSpan &span : spans) {
    if (span.step < covered)
      return false;
    covered = span.step * span.size;
  }
  return true;
}

/// True if two views of a buffer have no element in common in any two rows: adjacent parts of each row.
static bool areApart(const RowPlace &a, const RowPlace &b) {
  auto length = [](const RowPlace &place) {
    return place.columns.size() == 1 && place.columns.front().step == 1 ? place.columns.front().size : 0;
  };
  if (a.rows.empty() || b.rows.empty() || !length(a) || !length(b))
    return false;
  int64_t step = a.rows.back().step;
  for (const LoopSpan &span : llvm::concat<const LoopSpan>(a.rows, b.rows))
    step = std::gcd(step, span.step);
  int64_t first = a.constant % step, second = b.constant % step;
  return first >= 0 && second >= 0 && std::max(first + length(a), second + length(b)) <= step &&
         (first + length(a) <= second || second + length(b) <= first);
}

bool RowRegion::buffersFit(std::string *why, bool isPart) const {
  struct Known {
    Value buffer;
    const RowPlace *place;
    bool isLinear, isSummed, isStart, isWritten, isMixed;
    SmallVector<std::pair<Value, const RowPlace *>> others; // views at other offsets, disjoint from all before
  };
  llvm::DenseMap<Value, Known> roots;
  for (const RowMember &member : members) {
    linalg::LinalgOp op = member.op;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      const std::optional<RowPlace> &place = member.places[operand.getOperandNumber()];
      bool writes = op.isDpsInit(&operand);
      bool isSum = writes && member.role == RowRole::ColumnSum, isStart = writes && member.role == RowRole::ChunkStart;
      if (writes && !isSum && !isStart &&
          (!place || !isInjective(*place, domain.rows, member.role == RowRole::Element ? domain.length : 1)))
        return refuse(why, "an op writes an element more than once");
      auto [at, isNew] = roots.try_emplace(rootBuffer(operand.get()), Known{wholeBuffer(operand.get()),
                                                                            place ? &*place : nullptr,
                                                                            place.has_value(),
                                                                            isSum,
                                                                            isStart,
                                                                            writes,
                                                                            false,
                                                                            {}});
      Known &known = at->second;
      if (isNew) {
        if (isSum)
          return refuse(why, "a sum of columns starts from the previous contents of its buffer");
        continue;
      }
      Value view = wholeBuffer(operand.get());
      auto is = [&](Value buffer, const RowPlace *other) {
        return buffer == view && other && place && *other == *place;
      };
      auto isApart = [&](Value buffer, const RowPlace *other) {
        return buffer != view && other && place && areApart(*other, *place);
      };
      bool isSame = is(known.buffer, known.place) ||
                    llvm::any_of(known.others, [&](auto &other) { return is(other.first, other.second); });
      if (!isSame && !isSum && !isStart && isApart(known.buffer, known.place) &&
          llvm::all_of(known.others, [&](auto &other) { return isApart(other.first, other.second); })) {
        known.others.emplace_back(view, &*place);
        isSame = true;
      }
      if (isSum && known.isStart && !known.isSummed && known.buffer == wholeBuffer(operand.get())) {
        known.isSummed = true; // its offsets are offsets of chunks
        continue;
      }
      if (isSum || isStart || known.isStart)
        return refuse(why, "sums of columns are used by the same rows");
      // All threads of a row read it, one writes it: nothing tells the one that the others have read.
      if (writes && member.role == RowRole::Row && !known.isWritten && !isPart)
        return refuse(why, "a value per row that was stored before is overwritten");
      known.isWritten |= writes;
      known.isMixed |= !isSame;
      if (known.isWritten && known.isMixed)
        return refuse(why, "elements that a row writes are read at other indices");
    }
  }
  for (auto &[root, known] : roots)
    if (known.isStart && !known.isSummed)
      return refuse(why, "a start without its sum");
  return true;
}

RowThreads RowRegion::threads() const {
  constexpr int64_t warp = 32, mostThreads = 512, widest = 16, elementsOfThread = 16;
  RowThreads found;
  int64_t bytes = 1;
  for (const RowMember &member : members)
    for (OpOperand &operand : member.op->getOpOperands())
      if (auto type = dyn_cast<MemRefType>(operand.get().getType()))
        if (const auto &place = member.places[operand.getOperandNumber()]; place && !place->columns.empty())
          bytes = std::max<int64_t>(bytes, type.getElementTypeBitWidth() / 8);
  found.width = std::max<int64_t>(1, widest / bytes);
  while (found.width > 1 && (domain.length % found.width || (hasReductions() && domain.length / found.width < warp)))
    found.width /= 2;
  if (!hasReductions()) { // each group of elements is a thread's
    found.threads = domain.length / found.width;
    found.groups = 1;
    return found;
  }
  int64_t wanted = int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(domain.length, elementsOfThread))));
  found.threads = std::clamp(wanted, warp, mostThreads);
  found.groups = llvm::divideCeil(domain.length, found.threads * found.width);
  return found;
}

bool RowRegion::hasOnePlace(Value buffer, const RowPlace &place) const {
  buffer = wholeBuffer(buffer);
  for (const RowMember &member : members)
    for (OpOperand &operand : member.op->getOpOperands())
      if (wholeBuffer(operand.get()) == buffer)
        if (const auto &other = member.places[operand.getOperandNumber()]; !other || !(*other == place))
          return false;
  return true;
}

bool RowRegion::fits(std::string *why, bool isPart) const {
  if (!buffersFit(why, isPart))
    return false;
  if (!hasReductions())
    return true;
  // A multiprocessor has 65,536 registers, a thread at most 255, some of which addresses and arithmetic use.
  constexpr int64_t all = 65536, most = 255, others = 40, longest = 64;
  if (threads().elements() > longest || heldRegisters(*this) > std::min(most, all / threads().threads) - others)
    return refuse(why, "the rows do not fit into registers");
  return true;
}

} // namespace mlir::ppc
