// Loops that add a row of a table for each position, such as the gradient of an embedding: positions with the same row
// in their order. A warp has a position and a few of the table's columns. It goes on where no position before has the
// same row, and adds what all later ones with it give, in order, so that many rows are under way at once and each place
// is written by one thread: the same bits from run to run. Positions are compared 32 at a time.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ppc::cuda {

namespace {

constexpr int64_t kWarpsOfScatter = 8, kMostColumnsOfLane = 16;

/// for positions: for columns: table[row, column] += (guard ? x : 0).
struct RowScatter {
  SmallVector<scf::ForOp> positions;
  scf::ForOp columns;
  memref::LoadOp old;
  memref::StoreOp store;
  Value guard; // null: none

  static int64_t count(scf::ForOp loop) { return *getConstantIntValue(loop.getUpperBound()); }
  SmallVector<int64_t> sizes() const {
    return llvm::map_to_vector(positions, [&](scf::ForOp loop) { return count(loop); });
  }
};

bool isFromZeroByOne(scf::ForOp loop) {
  return loop.getInitArgs().empty() && getConstantIntValue(loop.getLowerBound()) == 0 &&
         getConstantIntValue(loop.getStep()) == 1 && getConstantIntValue(loop.getUpperBound());
}

/// The condition without which nothing is added, if it is known before the columns.
Value guardOf(Value added, scf::ForOp columns) {
  while (auto extension = added.getDefiningOp<arith::ExtFOp>())
    added = extension.getIn();
  auto choice = added.getDefiningOp<arith::SelectOp>();
  bool isGuard = choice && matchPattern(choice.getFalseValue(), m_AnyZeroFloat()) &&
                 columns.isDefinedOutsideOfLoop(choice.getCondition());
  return isGuard ? choice.getCondition() : Value();
}

std::optional<RowScatter> rowScatterOf(scf::ForOp outermost) {
  RowScatter found;
  for (scf::ForOp loop = outermost; loop;) {
    if (!isFromZeroByOne(loop))
      return std::nullopt;
    auto inner = loop.getBody()->getOps<scf::ForOp>();
    if (inner.empty()) {
      found.columns = loop;
      break;
    }
    found.positions.push_back(loop);
    if (!llvm::hasSingleElement(inner))
      return std::nullopt;
    loop = *inner.begin();
  }
  if (found.positions.empty() || found.count(found.columns) % kWarp)
    return std::nullopt;
  SmallVector<memref::StoreOp> stores;
  outermost->walk([&](memref::StoreOp store) { stores.push_back(store); });
  if (stores.size() != 1 || stores.front()->getParentOp() != found.columns)
    return std::nullopt;
  found.store = stores.front();
  bool fits = true;
  outermost->walk([&](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load && load.getMemref() == found.store.getMemref()) {
      fits &= !found.old && load->getParentOp() == found.columns && load.getIndices() == found.store.getIndices();
      found.old = load;
    } else if (!load && op != found.store) {
      fits &= isa<scf::ForOp>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op));
    }
  });
  if (!fits || !found.old || found.store.getIndices().empty() ||
      found.store.getIndices().back() != found.columns.getInductionVar() ||
      !llvm::all_of(found.store.getIndices().drop_back(),
                    [&](Value index) { return found.columns.isDefinedOutsideOfLoop(index); }))
    return std::nullopt;
  auto sum = found.store.getValue().getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != found.old && sum.getRhs() != found.old) || !found.old->hasOneUse())
    return std::nullopt;
  found.guard = guardOf(sum.getLhs() == found.old ? sum.getRhs() : sum.getLhs(), found.columns);
  return found;
}

class RowScatterWriter {
public:
  RowScatterWriter(KernelWriter &w, RowScatter &loops) : w(w), b(w.b), loops(loops), sizes(loops.sizes()) {
    int64_t groups = loops.count(loops.columns) / kWarp;
    for (columnsOfLane = std::min(groups, kMostColumnsOfLane); groups % columnsOfLane;)
      --columnsOfLane;
    parts = groups / columnsOfLane;
    positions = ShapedType::getNumElements(sizes);
  }

  void run() {
    int64_t warps = std::min(kWarpsOfScatter, positions * parts);
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = llvm::divideCeil(positions * parts, warps);
    Value warp = w.asIndex(arith::ShRUIOp::create(b, w.thread(), w.i32(5)));
    Value number = arith::AddIOp::create(b, arith::MulIOp::create(b, w.asIndex(w.block()), w.index(warps)), warp);
    if (positions * parts % warps) // a whole warp or nothing of it
      enter(compare(arith::CmpIPredicate::ult, number, w.index(positions * parts)));
    lane = w.asIndex(arith::AndIOp::create(b, w.thread(), w.i32(kWarp - 1)));
    own = arith::DivUIOp::create(b, number, w.index(parts));
    Value part = arith::RemUIOp::create(b, number, w.index(parts));
    firstColumn = arith::AddIOp::create(b, arith::MulIOp::create(b, part, w.index(columnsOfLane * kWarp)), lane);
    ownRow = rowAt(own);
    if (loops.guard)
      enter(w.map.lookup(loops.guard));
    SmallVector<Value> indices = mapped(loops.store.getIndices().drop_back());
    indices.push_back(firstColumn);
    Value place = w.address(loops.store.getMemref(), indices);
    enter(isFirst());
    Type type = cast<MemRefType>(loops.store.getMemref().getType()).getElementType();
    unsigned bytes = type.getIntOrFloatBitWidth() / 8;
    auto at = [&](int64_t i) {
      return LLVM::GEPOp::create(b, place.getType(), type, place, ArrayRef<LLVM::GEPArg>{int32_t(i * kWarp)});
    };
    SmallVector<Value> sums;
    for (int64_t i = 0; i < columnsOfLane; ++i)
      sums.push_back(LLVM::LoadOp::create(b, type, at(i), bytes));
    for (auto [i, sum] : llvm::enumerate(addAll(sums)))
      LLVM::StoreOp::create(b, sum, at(int64_t(i)), bytes);
  }

private:
  void enter(Value condition) {
    auto guard = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(guard.thenBlock());
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  SmallVector<Value> mapped(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return w.map.lookupOrDefault(value); });
  }

  /// Computes what is outside of the columns at a position; the number of its row, or -1 if nothing is added.
  Value rowAt(Value position) {
    for (auto [loop, number] : llvm::zip(loops.positions, w.delinearize(position, sizes)))
      w.map.map(loop.getInductionVar(), number);
    for (scf::ForOp loop : loops.positions)
      for (Operation &inner : loop.getBody()->without_terminator())
        if (!isa<scf::ForOp>(inner))
          w.cloneOp(inner, {});
    auto type = cast<MemRefType>(loops.store.getMemref().getType());
    Value row = w.index(0);
    for (auto [index, size] : llvm::zip(mapped(loops.store.getIndices().drop_back()), type.getShape()))
      row = arith::AddIOp::create(b, arith::MulIOp::create(b, row, w.index(size)), index);
    return loops.guard ? arith::SelectOp::create(b, w.map.lookup(loops.guard), row, w.index(-1)).getResult() : row;
  }

  Value vote(Value condition, NVVM::VoteSyncKind kind, Type type) {
    return NVVM::VoteSyncOp::create(b, type, w.i32(-1), condition, kind);
  }

  /// Whether no position before the warp's own has its row.
  Value isFirst() {
    Value none = arith::ConstantOp::create(b, b.getBoolAttr(false));
    SmallVector<Type> types{b.getIndexType(), b.getI1Type()};
    auto loop = scf::WhileOp::create(b, types, ValueRange{w.index(0), none});
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Location> places(2, b.getLoc());
    Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
    Value unknown = arith::AndIOp::create(
        b, compare(arith::CmpIPredicate::ult, before->getArgument(0), own),
        arith::XOrIOp::create(b, before->getArgument(1), arith::ConstantOp::create(b, b.getBoolAttr(true))));
    scf::ConditionOp::create(b, unknown, before->getArguments());
    Block *after = b.createBlock(&loop.getAfter(), {}, types, places);
    Value first = after->getArgument(0), position = arith::AddIOp::create(b, first, lane);
    Value isBefore = compare(arith::CmpIPredicate::ult, position, own);
    Value row = rowAt(arith::SelectOp::create(b, isBefore, position, own));
    Value same = arith::AndIOp::create(b, isBefore, compare(arith::CmpIPredicate::eq, row, ownRow));
    scf::YieldOp::create(b, ValueRange{arith::AddIOp::create(b, first, w.index(kWarp)),
                                       vote(same, NVVM::VoteSyncKind::any, b.getI1Type())});
    b.setInsertionPointAfter(loop);
    return arith::XOrIOp::create(b, loop.getResult(1), arith::ConstantOp::create(b, b.getBoolAttr(true)));
  }

  /// `sums` and what each position from the own one on with the same row adds.
  SmallVector<Value> addAll(ValueRange sums) {
    Value start = arith::SubIOp::create(b, own, arith::RemUIOp::create(b, own, w.index(kWarp)));
    auto blocks = scf::ForOp::create(b, start, w.index(positions), w.index(kWarp), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(blocks.getBody());
    Value first = blocks.getInductionVar(), position = arith::AddIOp::create(b, first, lane);
    Value counts = compare(arith::CmpIPredicate::uge, position, own);
    if (positions % kWarp)
      counts = arith::AndIOp::create(b, counts, compare(arith::CmpIPredicate::ult, position, w.index(positions)));
    Value row = rowAt(arith::SelectOp::create(b, counts, position, own));
    Value same = arith::AndIOp::create(b, counts, compare(arith::CmpIPredicate::eq, row, ownRow));
    SmallVector<Value> carried{vote(same, NVVM::VoteSyncKind::ballot, b.getI32Type())};
    llvm::append_range(carried, blocks.getRegionIterArgs());
    SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
    SmallVector<Location> places(types.size(), b.getLoc());
    auto loop = scf::WhileOp::create(b, types, carried);
    {
      OpBuilder::InsertionGuard inner(b);
      Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
      Value more = compare(arith::CmpIPredicate::ne, before->getArgument(0), w.i32(0));
      scf::ConditionOp::create(b, more, before->getArguments());
      Block *after = b.createBlock(&loop.getAfter(), {}, types, places);
      scf::YieldOp::create(b, addOne(first, after->getArguments()));
    }
    scf::YieldOp::create(b, loop.getResults().drop_front());
    return SmallVector<Value>(blocks.getResults());
  }

  /// The lowest position of a mask, whose others are left: mask and sums.
  SmallVector<Value> addOne(Value first, ValueRange carried) {
    Value mask = carried.front();
    Value bit = LLVM::CountTrailingZerosOp::create(b, b.getI32Type(), mask, /*is_zero_poison=*/true);
    rowAt(arith::AddIOp::create(b, first, w.asIndex(bit)));
    SmallVector<Value> result{arith::AndIOp::create(b, mask, arith::SubIOp::create(b, mask, w.i32(1)))};
    // All loads first.
    SmallVector<SmallVector<Value>> loaded(columnsOfLane);
    SmallVector<memref::LoadOp> loads;
    for (auto load : loops.columns.getBody()->getOps<memref::LoadOp>())
      if (load != loops.old)
        loads.push_back(load);
    for (int64_t i = 0; i < columnsOfLane; ++i) {
      setColumn(i);
      for (memref::LoadOp load : loads)
        if (llvm::all_of(load.getIndices(), [&](Value index) { return isKnown(index); }))
          loaded[i].push_back(w.load(load.getMemref(), mapped(load.getIndices())));
        else
          loaded[i].push_back(Value());
    }
    for (int64_t i = 0; i < columnsOfLane; ++i) {
      setColumn(i);
      w.map.map(loops.old.getResult(), carried[1 + i]);
      for (Operation &inner : loops.columns.getBody()->without_terminator()) {
        auto load = dyn_cast<memref::LoadOp>(inner);
        Value known = load && load != loops.old ? loaded[i][llvm::find(loads, load) - loads.begin()] : Value();
        if (known)
          w.map.map(load.getResult(), known);
        else if (load != loops.old && &inner != loops.store)
          w.cloneOp(inner, {});
      }
      result.push_back(w.map.lookup(loops.store.getValue()));
    }
    return result;
  }

  bool isKnown(Value index) {
    return index == loops.columns.getInductionVar() || loops.columns.isDefinedOutsideOfLoop(index);
  }
  void setColumn(int64_t i) {
    w.map.map(loops.columns.getInductionVar(), arith::AddIOp::create(b, firstColumn, w.index(i * kWarp)).getResult());
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  RowScatter &loops;
  SmallVector<int64_t> sizes;
  int64_t columnsOfLane, parts, positions; // parts of the columns, each a warp's
  Value lane, own, ownRow, firstColumn;    // own: the position of the warp
};

} // namespace

bool writeRowScatter(KernelWriter &w, scf::ForOp loop) {
  std::optional<RowScatter> loops = rowScatterOf(loop);
  if (loops)
    RowScatterWriter(w, *loops).run();
  return loops.has_value();
}

} // namespace mlir::ppc::cuda
