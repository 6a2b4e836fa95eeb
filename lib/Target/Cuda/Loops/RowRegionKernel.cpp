// Regions of ops that share rows: norms and their gradients, losses, chains of elementwise ops with several results. A
// row is read once, into registers of a warp or a block, in accesses of up to 16 bytes; members follow each other in
// phases, between which sums of rows are combined in a fixed tree. Sums of columns stay in registers while a block goes
// through its chunk of rows. A region without reductions gives a group of neighbouring elements to each thread.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/RowPhases.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kThreadsOfElements = 256, kWarpsOfRows = 4, kWarpsOfChunk = 8;

/// Neighbouring elements of a row that a thread has.
struct Group {
  Value column; // of the first
  Value inside; // whether the row reaches there; null where it does for all threads
};

class RegionWriter {
public:
  RegionWriter(KernelWriter &w, const RowRegion &region)
      : w(w), b(w.b), region(region), phases(phasesOf(region)), shape(region.threads()) {
    for (const RowMember &member : region.members)
      for (Value out : linalg::LinalgOp(member.op).getDpsInits())
        lastWriter[wholeBuffer(out)] = &member;
    w.op->walk([&](ViewLikeOpInterface view) { // its offset is in its type
      if (Value address = w.map.lookupOrNull(view.getViewSource()))
        w.map.map(view->getResult(0), address);
    });
  }

  void run() {
    if (!region.hasReductions())
      return writeElements();
    bool isWarp = shape.threads == kWarp;
    if (region.hasRole(RowRole::ColumnSum))
      return writeChunks(isWarp);
    int64_t warps = isWarp ? std::min(region.domain.rows, kWarpsOfRows) : 1; // rows of a block
    w.kernel.threads = isWarp ? warps * kWarp : shape.threads;
    w.kernel.blocks = llvm::divideCeil(region.domain.rows, warps);
    Value row = w.asIndex(w.block());
    if (isWarp) {
      row = arith::AddIOp::create(b, arith::MulIOp::create(b, row, w.index(warps)), w.asIndex(warp()));
      if (region.domain.rows % warps) // a whole warp or nothing of it
        enter(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, w.index(region.domain.rows)));
    }
    setGroups();
    writeRow(row);
  }

private:
  //===--- Threads --------------------------------------------------------===//

  Value warp() { return arith::ShRUIOp::create(b, w.thread(), w.i32(5)); }
  Value lane() { return arith::AndIOp::create(b, w.thread(), w.i32(kWarp - 1)); }
  Value threadOfRow() { return shape.threads == kWarp ? lane() : w.thread(); }

  void enter(Value condition) {
    auto guard = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(guard.thenBlock());
  }

  void setGroups() {
    Value thread = w.asIndex(threadOfRow());
    firstOfRow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadOfRow(), w.i32(0));
    int64_t all = region.domain.length / shape.width;
    for (int64_t i = 0; i < shape.groups; ++i) {
      Value number = arith::AddIOp::create(b, thread, w.index(i * shape.threads));
      Group group{arith::MulIOp::create(b, number, w.index(shape.width)), Value()};
      if ((i + 1) * shape.threads > all)
        group.inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, w.index(all));
      groups.push_back(group);
    }
  }

  void writeElements() {
    int64_t iterations = region.domain.rows * shape.threads;
    w.kernel.threads = std::min<int64_t>(kThreadsOfElements, llvm::alignTo(iterations, kWarp));
    w.kernel.blocks = llvm::divideCeil(iterations, w.kernel.threads);
    SmallVector<Value> place = w.delinearize(w.threadsBelow(iterations), {region.domain.rows, shape.threads});
    groups.push_back({arith::MulIOp::create(b, place[1], w.index(shape.width)), Value()});
    firstOfRow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place[1], w.index(0));
    writeRow(place[0]);
  }

  /// A block for each chunk of rows; a row is its threads', or each of its warps has rows of its own.
  void writeChunks(bool isWarp) {
    int64_t rows = region.domain.rows / region.domain.chunks, warps = isWarp ? std::min(rows, kWarpsOfChunk) : 1;
    w.kernel.threads = isWarp ? warps * kWarp : shape.threads;
    w.kernel.blocks = region.domain.chunks;
    setGroups();
    Value chunk = w.asIndex(w.block());
    Value firstRow = arith::MulIOp::create(b, chunk, w.index(rows));
    SmallVector<Value> starts;
    for (const RowMember &member : region.members)
      if (member.role == RowRole::ColumnSum)
        starts.append(shape.elements(), startOf(member));
    auto loop = scf::ForOp::create(b, isWarp ? w.asIndex(warp()) : w.index(0), w.index(rows), w.index(warps), starts);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      setSums(loop.getRegionIterArgs());
      writeRow(arith::AddIOp::create(b, firstRow, loop.getInductionVar()));
      if (!isWarp && region.hasRole(RowRole::RowReduction))
        NVVM::Barrier0Op::create(b); // before the next row's partial results are stored
      SmallVector<Value> results;
      for (auto &[buffer, sum] : sums)
        llvm::append_range(results, sum);
      scf::YieldOp::create(b, results);
    }
    setSums(loop.getResults());
    for (const RowMember &member : region.members)
      if (member.role == RowRole::ColumnSum)
        storeSum(member, chunk, warps);
  }

  Value startOf(const RowMember &sum) {
    Value buffer = wholeBuffer(linalg::LinalgOp(sum.op).getDpsInits()[0]);
    for (const RowMember &member : region.members) {
      linalg::LinalgOp op = member.op;
      if (member.role != RowRole::ChunkStart || wholeBuffer(op.getDpsInits()[0]) != buffer)
        continue;
      mapScalars(op);
      return result(op, 0, {});
    }
    llvm_unreachable("RowRegion::of asks for it");
  }

  void setSums(ValueRange values) {
    size_t at = 0;
    for (const RowMember &member : region.members)
      if (member.role == RowRole::ColumnSum) {
        ValueRange own = values.slice(at, shape.elements());
        sums[wholeBuffer(linalg::LinalgOp(member.op).getDpsInits()[0])].assign(own.begin(), own.end());
        at += shape.elements();
      }
  }

  /// Writes the sums of a chunk; those of several warps are added in order, in shared memory.
  void storeSum(const RowMember &member, Value chunk, int64_t warps) {
    linalg::LinalgOp op = member.op;
    OpOperand &out = *op.getDpsInitsMutable().begin();
    ArrayRef<Value> values = sums[wholeBuffer(out.get())];
    if (warps == 1) {
      for (auto [number, group] : llvm::enumerate(groups))
        storeGroup(member, out, values.slice(number * shape.width, shape.width), chunkDims(op, chunk, group.column),
                   group);
      return;
    }
    int64_t length = region.domain.length;
    Value base = w.sharedArray(warps * length);
    for (auto [number, group] : llvm::enumerate(groups)) {
      OpBuilder::InsertionGuard guard(b);
      if (group.inside)
        enter(group.inside);
      Value first =
          arith::AddIOp::create(b, arith::MulIOp::create(b, w.asIndex(warp()), w.index(length)), group.column);
      for (int64_t i = 0; i < shape.width; ++i)
        LLVM::StoreOp::create(b, values[number * shape.width + i],
                              w.sharedPlace(base, arith::AddIOp::create(b, first, w.index(i))));
    }
    NVVM::Barrier0Op::create(b);
    auto columns = scf::ForOp::create(b, w.asIndex(w.thread()), w.index(length), w.index(w.kernel.threads));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(columns.getBody());
    Value column = columns.getInductionVar(), total;
    for (int64_t i = 0; i < warps; ++i) {
      Value at = arith::AddIOp::create(b, column, w.index(i * length));
      Value one = LLVM::LoadOp::create(b, b.getF32Type(), w.sharedPlace(base, at));
      total = total ? combine(op, total, one) : one;
    }
    w.store(total, out.get(), w.place(op, out, chunkDims(op, chunk, column)));
  }

  SmallVector<Value> chunkDims(linalg::LinalgOp op, Value chunk, Value column) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    SmallVector<Value> dims(sizes.size(), w.index(0));
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    SmallVector<int64_t> parallelSizes;
    for (unsigned dim : parallel)
      parallelSizes.push_back(sizes[dim]);
    Value number = arith::AddIOp::create(b, arith::MulIOp::create(b, chunk, w.index(region.domain.length)), column);
    for (auto [dim, value] : llvm::zip(parallel, w.delinearize(number, parallelSizes)))
      dims[dim] = value;
    return dims;
  }

  //===--- One row --------------------------------------------------------===//

  void writeRow(Value row) {
    numbers.clear();
    elements.clear();
    this->row = row;
    for (unsigned phase = 0; phase <= *llvm::max_element(phases); ++phase)
      writePhase(phase);
  }

  void writePhase(unsigned phase) {
    SmallVector<const RowMember *> ofRows, ofElements;
    for (auto [member, at] : llvm::zip(region.members, phases))
      if (at == phase && member.role != RowRole::ChunkStart)
        (member.role == RowRole::Row ? ofRows : ofElements).push_back(&member);
    for (const RowMember *member : ofRows)
      writeNumber(*member);
    loadInputs(ofElements);
    SmallVector<Value> partials;
    for (const RowMember *member : ofElements)
      if (member->role == RowRole::RowReduction) {
        Value neutral = arith::ConstantOp::create(b, b.getF32FloatAttr(combinationOf(member->op)->neutral()));
        partials.push_back(neutral);
      }
    for (size_t group = 0; group < groups.size(); ++group) {
      size_t reduction = 0;
      for (const RowMember *member : ofElements)
        if (member->role == RowRole::RowReduction)
          reduceGroup(*member, group, partials[reduction++]);
        else
          writeGroup(*member, group);
    }
    size_t reduction = 0;
    for (const RowMember *member : ofElements)
      if (member->role == RowRole::RowReduction)
        finishReduction(*member, partials[reduction++]);
    columnInputs.clear();
  }

  /// Values that come from outside as they are.
  void mapScalars(linalg::LinalgOp op) {
    for (OpOperand *input : op.getDpsInputOperands())
      if (!isa<MemRefType>(input->get().getType()))
        w.map.map(op.getMatchingBlockArgument(input), w.map.lookup(input->get()));
  }

  SmallVector<Value> rowDims(linalg::LinalgOp op, const RowMember &member) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    return w.delinearize(row, ArrayRef(sizes).take_front(member.firstColumn));
  }

  SmallVector<Value> dimsAt(const RowMember &member, Value column) {
    linalg::LinalgOp op = member.op;
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    SmallVector<Value> dims = rowDims(op, member);
    llvm::append_range(dims, w.delinearize(column, ArrayRef(sizes).drop_front(member.firstColumn)));
    return dims;
  }

  /// The number of this row in a buffer of one per row; `operand` is of `member`.
  Value numberOf(const RowMember &member, OpOperand &operand) {
    if (Value known = numbers.lookup(wholeBuffer(operand.get())))
      return known;
    linalg::LinalgOp op = member.op;
    SmallVector<Value> dims = rowDims(op, member);
    dims.append(op.getNumLoops() - dims.size(), w.index(0));
    Value number = w.load(operand.get(), w.place(op, operand, dims));
    if (region.hasOnePlace(operand.get(), *member.places[operand.getOperandNumber()]))
      numbers[wholeBuffer(operand.get())] = number;
    return number;
  }

  void setNumber(const RowMember &member, OpOperand &out, Value number) {
    numbers[wholeBuffer(out.get())] = number;
    if (!isStored(member, out.get()))
      return;
    OpBuilder::InsertionGuard guard(b);
    enter(firstOfRow);
    linalg::LinalgOp op = member.op;
    SmallVector<Value> dims = rowDims(op, member);
    dims.append(op.getNumLoops() - dims.size(), w.index(0));
    w.store(number, out.get(), w.place(op, out, dims));
  }

  bool isStored(const RowMember &member, Value buffer) {
    buffer = wholeBuffer(buffer);
    return buffer.getParentBlock() != member.op->getBlock() && lastWriter.lookup(buffer) == &member;
  }

  /// Its body on what block arguments are mapped to; result `number`.
  Value result(linalg::LinalgOp op, unsigned number, ValueRange dims) {
    Block &body = op->getRegion(0).front();
    w.clone(body, dims);
    return w.map.lookup(body.getTerminator()->getOperand(number));
  }

  bool isUsed(linalg::LinalgOp op, OpOperand &operand) { return !op.getMatchingBlockArgument(&operand).use_empty(); }

  void writeNumber(const RowMember &member) {
    linalg::LinalgOp op = member.op;
    mapScalars(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) && isUsed(op, operand)) {
        SmallVector<Value> dims = rowDims(op, member);
        bool isLinear = member.places[operand.getOperandNumber()].has_value();
        Value value = isLinear ? numberOf(member, operand) : w.load(operand.get(), w.place(op, operand, dims));
        w.map.map(op.getMatchingBlockArgument(&operand), value);
      }
    Block &body = op->getRegion(0).front();
    w.clone(body, rowDims(op, member));
    for (auto [out, value] : llvm::zip(op.getDpsInitsMutable(), body.getTerminator()->getOperands()))
      setNumber(member, out, w.map.lookup(value));
  }

  /// Reads what the members of a phase take from outside, before any of them writes.
  void loadInputs(ArrayRef<const RowMember *> members) {
    llvm::SmallDenseSet<Value> written;
    for (const RowMember *member : members) {
      linalg::LinalgOp op = member->op;
      for (OpOperand &operand : op->getOpOperands()) {
        bool isSum = member->role == RowRole::ColumnSum && op.isDpsInit(&operand);
        const auto &place = member->places[operand.getOperandNumber()];
        if (!isa<MemRefType>(operand.get().getType()) || !isUsed(op, operand) || !place || isSum ||
            written.contains(wholeBuffer(operand.get())))
          continue;
        if (place->columns.empty()) {
          if (member->role != RowRole::RowReduction || !op.isDpsInit(&operand))
            numberOf(*member, operand);
          continue;
        }
        if (elements.contains(wholeBuffer(operand.get())) ||
            columnInputs.count({wholeBuffer(operand.get()).getAsOpaquePointer(), keyOf(*place)}))
          continue;
        SmallVector<Value> loaded;
        for (const Group &group : groups)
          llvm::append_range(loaded, loadGroup(*member, operand, group));
        if (region.isHeld(operand.get(), *place))
          elements[wholeBuffer(operand.get())] = std::move(loaded);
        else
          columnInputs[{wholeBuffer(operand.get()).getAsOpaquePointer(), keyOf(*place)}] = std::move(loaded);
      }
      for (Value out : op.getDpsInits())
        written.insert(wholeBuffer(out));
    }
  }

  static std::string keyOf(const RowPlace &place) {
    std::string key = std::to_string(place.constant);
    for (const auto *spans : {&place.rows, &place.columns}) {
      key += "|";
      for (const LoopSpan &span : *spans)
        key += std::to_string(span.size) + "x" + std::to_string(span.step) + ",";
    }
    return key;
  }

  /// Whether `width` elements from each group's first on lie side by side, at a multiple of their size.
  bool isVector(const RowPlace &place) {
    if (place.columns.empty() || place.columns.back().step != 1 || place.columns.back().size % shape.width ||
        place.constant % shape.width)
      return false;
    auto isMultiple = [&](const LoopSpan &span) { return span.step % shape.width == 0; };
    return llvm::all_of(place.rows, isMultiple) && llvm::all_of(ArrayRef(place.columns).drop_back(), isMultiple);
  }

  SmallVector<Value> loadGroup(const RowMember &member, OpOperand &operand, const Group &group) {
    linalg::LinalgOp op = member.op;
    const RowPlace &place = *member.places[operand.getOperandNumber()];
    Type element = cast<MemRefType>(operand.get().getType()).getElementType();
    bool asVector = shape.width > 1 && isVector(place);
    SmallVector<Type> types(asVector ? 1 : shape.width, asVector ? VectorType::get({shape.width}, element) : element);
    auto loadAll = [&] {
      SmallVector<Value> values;
      for (int64_t i = 0; i < int64_t(types.size()); ++i) {
        Value column = i ? arith::AddIOp::create(b, group.column, w.index(i)).getResult() : group.column;
        values.push_back(
            w.load(operand.get(), w.place(op, operand, dimsAt(member, column)), asVector ? shape.width : 1));
      }
      return values;
    };
    SmallVector<Value> values;
    if (group.inside) {
      auto guarded = scf::IfOp::create(b, TypeRange(types), group.inside, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(guarded.thenBlock());
      scf::YieldOp::create(b, loadAll());
      b.setInsertionPointToStart(guarded.elseBlock());
      SmallVector<Value> zeros;
      for (Type type : types)
        zeros.push_back(arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type))));
      scf::YieldOp::create(b, zeros);
      values.assign(guarded.getResults().begin(), guarded.getResults().end());
    } else {
      values = loadAll();
    }
    if (!asVector)
      return values;
    SmallVector<Value> lanes;
    for (int64_t i = 0; i < shape.width; ++i)
      lanes.push_back(LLVM::ExtractElementOp::create(b, values[0], w.i32(i)));
    return lanes;
  }

  void storeGroup(const RowMember &member, OpOperand &out, ArrayRef<Value> values, ArrayRef<Value> firstDims,
                  const Group &group) {
    linalg::LinalgOp op = member.op;
    OpBuilder::InsertionGuard guard(b);
    if (group.inside)
      enter(group.inside);
    bool isSum = member.role == RowRole::ColumnSum;
    const RowPlace &place = *member.places[out.getOperandNumber()];
    if (shape.width > 1 && isVector(place)) {
      Type element = cast<MemRefType>(out.get().getType()).getElementType();
      Value vector = LLVM::PoisonOp::create(b, VectorType::get({shape.width}, element));
      for (auto [i, value] : llvm::enumerate(values))
        vector = LLVM::InsertElementOp::create(b, vector, value, w.i32(int64_t(i)));
      w.store(vector, out.get(), w.place(op, out, firstDims), shape.width);
      return;
    }
    for (auto [i, value] : llvm::enumerate(values)) {
      Value column = arith::AddIOp::create(b, group.column, w.index(int64_t(i)));
      w.store(value, out.get(),
              w.place(op, out, isSum ? chunkDims(op, w.asIndex(w.block()), column) : dimsAt(member, column)));
    }
  }

  /// Maps the inputs of one element.
  void mapElement(const RowMember &member, size_t group, int64_t lane, ArrayRef<Value> dims) {
    linalg::LinalgOp op = member.op;
    mapScalars(op);
    int64_t number = int64_t(group) * shape.width + lane;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()) || !isUsed(op, operand) ||
          (op.isDpsInit(&operand) && member.role != RowRole::Element))
        continue;
      const auto &place = member.places[operand.getOperandNumber()];
      Value value;
      if (place && place->columns.empty()) {
        value = numberOf(member, operand);
      } else if (auto held = elements.find(wholeBuffer(operand.get())); place && held != elements.end()) {
        value = held->second[number];
      } else if (place) {
        value = columnInputs.find({wholeBuffer(operand.get()).getAsOpaquePointer(), keyOf(*place)})->second[number];
      } else {
        value = w.load(operand.get(), w.place(op, operand, dims));
      }
      w.map.map(op.getMatchingBlockArgument(&operand), value);
    }
  }

  bool needsDims(const RowMember &member) {
    linalg::LinalgOp op = member.op;
    return op.hasIndexSemantics() || llvm::is_contained(member.places, std::nullopt);
  }

  SmallVector<Value> elementDims(const RowMember &member, size_t group, int64_t lane) {
    if (!needsDims(member))
      return SmallVector<Value>(linalg::LinalgOp(member.op).getNumLoops(), Value());
    Value column = arith::AddIOp::create(b, groups[group].column, w.index(lane));
    if (groups[group].inside) { // what lies outside of the row must not be read
      Value last = w.index(region.domain.length - 1);
      column = arith::MinUIOp::create(b, column, last);
    }
    return dimsAt(member, column);
  }

  void writeGroup(const RowMember &member, size_t group) {
    linalg::LinalgOp op = member.op;
    Block &body = op->getRegion(0).front();
    bool isSum = member.role == RowRole::ColumnSum;
    SmallVector<SmallVector<Value>> results(op.getNumDpsInits());
    for (int64_t lane = 0; lane < shape.width; ++lane) {
      SmallVector<Value> dims = elementDims(member, group, lane);
      mapElement(member, group, lane, dims);
      if (isSum) {
        Value &sum = sums[wholeBuffer(op.getDpsInits()[0])][int64_t(group) * shape.width + lane];
        w.map.map(body.getArguments().back(), sum);
        sum = result(op, 0, dims);
        continue;
      }
      w.clone(body, dims);
      for (auto [list, value] : llvm::zip(results, body.getTerminator()->getOperands()))
        list.push_back(w.map.lookup(value));
    }
    if (isSum)
      return;
    for (auto [out, list] : llvm::zip(op.getDpsInitsMutable(), results)) {
      SmallVector<Value> &held = elements[wholeBuffer(out.get())];
      held.resize(shape.elements());
      llvm::copy(list, held.begin() + int64_t(group) * shape.width);
      if (isStored(member, out.get()))
        storeGroup(member, out, list, dimsAt(member, groups[group].column), groups[group]);
    }
  }

  //===--- Reductions of rows ---------------------------------------------===//

  Value combine(linalg::LinalgOp op, Value y, Value x) {
    Combination combination = *combinationOf(op);
    w.map.map(op->getRegion(0).front().getArguments().back(), y);
    w.map.map(combination.x, x);
    return b.clone(*combination.op, w.map)->getResult(0);
  }

  void reduceGroup(const RowMember &member, size_t group, Value &partial) {
    linalg::LinalgOp op = member.op;
    Combination combination = *combinationOf(op);
    for (int64_t lane = 0; lane < shape.width; ++lane) {
      SmallVector<Value> dims = elementDims(member, group, lane);
      mapElement(member, group, lane, dims);
      for (Operation &inner : op->getRegion(0).front().without_terminator())
        if (&inner != combination.op)
          w.cloneOp(inner, dims);
      Value x = w.map.lookup(combination.x);
      if (groups[group].inside) {
        Value neutral = arith::ConstantOp::create(b, b.getF32FloatAttr(combination.neutral()));
        x = arith::SelectOp::create(b, groups[group].inside, x, neutral);
      }
      partial = combine(op, partial, x);
    }
  }

  void finishReduction(const RowMember &member, Value partial) {
    linalg::LinalgOp op = member.op;
    OpOperand &out = *op.getDpsInitsMutable().begin();
    Value start = numberOf(member, out); // before the threads wait for each other, and one of them writes there
    for (int64_t by = kWarp / 2; by; by /= 2) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), partial, w.i32(by), w.i32(kWarp - 1),
                                         NVVM::ShflKind::bfly, UnitAttr());
      partial = combine(op, partial, other);
    }
    if (shape.threads > kWarp)
      partial = ofBlock(op, partial);
    setNumber(member, out, combine(op, start, partial));
  }

  /// Of all warps, in every thread.
  Value ofBlock(linalg::LinalgOp op, Value value) {
    int64_t warps = shape.threads / kWarp;
    Value base = w.sharedArray(warps);
    {
      OpBuilder::InsertionGuard guard(b);
      enter(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane(), w.i32(0)));
      LLVM::StoreOp::create(b, value, w.sharedPlace(base, warp()));
    }
    NVVM::Barrier0Op::create(b);
    Value total;
    for (int64_t i = 0; i < warps; ++i) {
      Value one = LLVM::LoadOp::create(b, b.getF32Type(), w.sharedPlace(base, w.i32(i)));
      total = total ? combine(op, total, one) : one;
    }
    return total;
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  const RowRegion &region;
  SmallVector<unsigned> phases; // by member
  RowThreads shape;
  llvm::DenseMap<Value, const RowMember *> lastWriter;
  SmallVector<Group> groups;
  Value firstOfRow; // whether this thread is the first of the row
  Value row;
  llvm::DenseMap<Value, Value> numbers;                                      // of this row, by buffer
  llvm::DenseMap<Value, SmallVector<Value>> elements;                        // of this row, that stay, by buffer
  std::map<std::pair<void *, std::string>, SmallVector<Value>> columnInputs; // of this phase, by buffer and place
  llvm::MapVector<Value, SmallVector<Value>> sums;                           // of columns, by buffer
};

} // namespace

void writeRowRegion(KernelWriter &w, const RowRegion &region) { RegionWriter(w, region).run(); }

} // namespace mlir::ppc::cuda
