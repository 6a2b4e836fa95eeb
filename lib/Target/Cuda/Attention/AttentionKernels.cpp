// Attention and its gradients, a warp for each row: for a query, or for a key and value. Lanes share out the head's
// dimension; scores are sums over lanes in a fixed tree, and gradients of keys and values add queries in their order:
// the same bits from run to run. In f32 throughout, whatever the operands are; for products by tensor cores there is
// another form.
#include "AttentionOnePass.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kRowsOfBlock = 4;

/// A row of a head in the registers of a warp: element lane + 32 i in register i.
using Row = SmallVector<Value>;

class AttentionWriter : AttentionProblem {
public:
  AttentionWriter(KernelWriter &w, const AttentionProblem &problem) : AttentionProblem(problem), w(w), b(w.b) {}

  void forward() {
    Value out = outs[0], logarithms = outs[1];
    begin(batch * queries * heads * groups);
    SmallVector<Value> at = w.delinearize(row, {batch, queries, heads, groups});
    ArrayRef<Value> indices = at;
    enterReal(at[1], [&] {
      writeRow(out, indices, Row(registers(valueDim), number(0)), valueDim);
      atLaneZero([&] { w.store(number(0), logarithms, indices); });
    });
    Row query = readRow(ins[0], indices, keyDim);
    Value slope = slopes ? wide(w.load(slopes, {at[2], at[3]})) : Value();
    Row carried{number(-INFINITY), number(0)}; // the largest score, the sum of powers
    carried.append(registers(valueDim), number(0));
    auto loop = overKeys(at[1], carried, [&](Value key, ValueRange so) {
      Value score = scoreOf(query, key, at, slope);
      Value largest = arith::MaxNumFOp::create(b, so[0], score);
      Value shrink = math::ExpOp::create(b, sub(so[0], largest)), power = math::ExpOp::create(b, sub(score, largest));
      Row next{largest, fma(so[1], shrink, power)};
      Row value = readRow(ins[2], {at[0], key, at[2]}, valueDim);
      for (auto [sum, element] : llvm::zip(so.drop_front(2), value))
        next.push_back(fma(power, element, mul(sum, shrink)));
      return next;
    });
    Row result;
    for (Value sum : loop.drop_front(2))
      result.push_back(arith::DivFOp::create(b, sum, loop[1]));
    writeRow(out, indices, result, valueDim);
    atLaneZero([&] {
      Value logarithm = math::LogOp::create(b, loop[1]);
      w.store(add(loop[0], logarithm), logarithms, indices);
    });
  }

  /// The gradient of queries. ins: q, k, v, out, logarithms, gradient of out.
  void queryGradient() {
    Value dq = outs[0];
    begin(batch * queries * heads * groups);
    SmallVector<Value> at = w.delinearize(row, {batch, queries, heads, groups});
    ArrayRef<Value> indices = at;
    enterReal(at[1], [&] { writeRow(dq, indices, Row(registers(keyDim), number(0)), keyDim); });
    QueryRow query = readQuery(indices);
    ValueRange sums = overKeys(at[1], Row(registers(keyDim), number(0)), [&](Value key, ValueRange so) {
      Row keyRow = readRow(ins[1], {at[0], key, at[2]}, keyDim), value = readRow(ins[2], {at[0], key, at[2]}, valueDim);
      auto [power, gradient] = ofScore(query, keyRow, value, key, at);
      Row next;
      for (auto [sum, element] : llvm::zip(so, keyRow))
        next.push_back(fma(gradient, element, sum));
      return next;
    });
    writeRow(dq, indices, Row(sums.begin(), sums.end()), keyDim);
  }

  /// The gradients of keys and values: a row adds all queries that see it.
  void keyGradients() {
    Value dk = outs[1], dv = outs[2];
    begin(batch * keys * heads);
    SmallVector<Value> at = w.delinearize(row, {batch, keys, heads});
    Row keyRow = readRow(ins[1], at, keyDim), value = readRow(ins[2], at, valueDim);
    Row carried(registers(keyDim) + registers(valueDim), number(0));
    auto overGroups = scf::ForOp::create(b, w.index(0), w.index(groups), w.index(1), carried);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(overGroups.getBody());
      auto [from, to] = queriesOf(at[1]);
      auto overQueries = scf::ForOp::create(b, from, to, w.index(1), overGroups.getRegionIterArgs());
      {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPointToStart(overQueries.getBody());
        SmallVector<Value> place{at[0], overQueries.getInductionVar(), at[2], overGroups.getInductionVar()};
        QueryRow query = readQuery(place);
        auto [power, gradient] = ofScore(query, keyRow, value, at[1], place);
        Row next;
        ValueRange so = overQueries.getRegionIterArgs();
        for (auto [sum, element] : llvm::zip(so.take_front(registers(keyDim)), query.elements))
          next.push_back(fma(gradient, element, sum));
        for (auto [sum, element] : llvm::zip(so.drop_front(registers(keyDim)), query.outGradient))
          next.push_back(fma(power, element, sum));
        scf::YieldOp::create(b, next);
      }
      scf::YieldOp::create(b, overQueries.getResults());
    }
    ValueRange sums = overGroups.getResults();
    writeRow(dk, at, Row(sums.take_front(registers(keyDim))), keyDim);
    writeRow(dv, at, Row(sums.drop_front(registers(keyDim))), valueDim);
  }

private:
  static int64_t registers(int64_t dim) { return llvm::divideCeil(dim, kWarp); }

  Value number(float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value wide(Value x) { return x.getType().isF32() ? x : arith::ExtFOp::create(b, b.getF32Type(), x).getResult(); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }

  /// `row`: which one this warp has; `lane`.
  void begin(int64_t rows) {
    int64_t warps = std::min(rows, kRowsOfBlock);
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = llvm::divideCeil(rows, warps);
    Value thread = w.thread();
    lane = w.asIndex(arith::AndIOp::create(b, thread, w.i32(kWarp - 1)));
    Value warp = w.asIndex(arith::ShRUIOp::create(b, thread, w.i32(5)));
    row = arith::AddIOp::create(b, arith::MulIOp::create(b, w.asIndex(w.block()), w.index(warps)), warp);
    if (rows % warps) {
      auto guard = scf::IfOp::create(b, compare(arith::CmpIPredicate::ult, row, w.index(rows)), false);
      b.setInsertionPointToStart(guard.thenBlock());
    }
    place0 = start(w);
  }

  /// What follows is for queries that are not padding; for padding, `otherwise`.
  template <typename F> void enterReal(Value query, F otherwise) {
    if (!first)
      return;
    Value real = compare(arith::CmpIPredicate::slt, add_(place0, query), w.index(keys));
    auto choice = scf::IfOp::create(b, real, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.elseBlock());
    otherwise();
    b.setInsertionPointToStart(choice.thenBlock());
  }
  Value add_(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

  template <typename F> void atLaneZero(F write) {
    OpBuilder::InsertionGuard guard(b);
    auto choice = scf::IfOp::create(b, compare(arith::CmpIPredicate::eq, lane, w.index(0)), false);
    b.setInsertionPointToStart(choice.thenBlock());
    write();
  }

  /// Elements past the end are zero, and not read.
  Row readRow(Value memref, ValueRange indices, int64_t dim) {
    Row result;
    for (int64_t i = 0; i < registers(dim); ++i) {
      Value element = add_(lane, w.index(kWarp * i));
      SmallVector<Value> place(indices);
      bool whole = kWarp * (i + 1) <= dim;
      Value inside = whole ? Value() : compare(arith::CmpIPredicate::ult, element, w.index(dim));
      place.push_back(whole ? element : arith::SelectOp::create(b, inside, element, w.index(0)).getResult());
      Value value = wide(w.load(memref, place));
      result.push_back(whole ? value : arith::SelectOp::create(b, inside, value, number(0)).getResult());
    }
    return result;
  }

  void writeRow(Value memref, ValueRange indices, const Row &values, int64_t dim) {
    Type type = cast<MemRefType>(memref.getType()).getElementType();
    for (auto [i, value] : llvm::enumerate(values)) {
      OpBuilder::InsertionGuard guard(b);
      Value element = add_(lane, w.index(kWarp * int64_t(i)));
      if (kWarp * (int64_t(i) + 1) > dim) {
        auto choice = scf::IfOp::create(b, compare(arith::CmpIPredicate::ult, element, w.index(dim)), false);
        b.setInsertionPointToStart(choice.thenBlock());
      }
      SmallVector<Value> place(indices);
      place.push_back(element);
      w.store(type.isF32() ? value : arith::TruncFOp::create(b, type, value).getResult(), memref, place);
    }
  }

  Value dot(const Row &x, const Row &y) {
    Value sum = number(0);
    for (auto [a, c] : llvm::zip(x, y))
      sum = fma(a, c, sum);
    for (int64_t by = kWarp / 2; by; by /= 2) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), sum, w.i32(by), w.i32(kWarp - 1),
                                         NVVM::ShflKind::bfly, UnitAttr());
      sum = add(sum, other);
    }
    return sum;
  }

  /// The keys that a query sees, [from, to).
  template <typename F> ValueRange overKeys(Value query, ValueRange carried, F body) {
    Value from = w.index(0), to = w.index(keys);
    if (causal) {
      Value own = add_(place0, query);
      to = arith::MinSIOp::create(b, add_(own, w.index(1)), to);
      if (window)
        from = arith::MaxSIOp::create(b, add_(own, w.index(1 - *window)), from);
    }
    auto loop = scf::ForOp::create(b, from, to, w.index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return loop.getResults();
  }

  /// The queries that see a key, [from, to): real ones.
  std::pair<Value, Value> queriesOf(Value key) {
    Value from = w.index(0), to = w.index(queries);
    Value real = arith::SubIOp::create(b, w.index(keys), place0); // so many are not padding
    if (first)
      to = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, to, real), from);
    if (causal) {
      Value own = arith::SubIOp::create(b, key, place0); // the query at this key
      from = arith::MaxSIOp::create(b, own, from);
      if (window)
        to = arith::MinSIOp::create(b, to, arith::MaxSIOp::create(b, add_(own, w.index(*window)), w.index(0)));
    }
    return {from, to};
  }

  /// scale q k + slope (key - own place), `at` being the query's indices.
  Value scoreOf(const Row &query, Value key, ArrayRef<Value> at, Value slope) {
    Row keyRow = readRow(ins[1], {at[0], key, at[2]}, keyDim);
    return scoreOfRows(query, keyRow, key, at[1], slope);
  }
  Value scoreOfRows(const Row &query, const Row &keyRow, Value key, Value place, Value slope) {
    Value score = mul(dot(query, keyRow), number(float(scale)));
    if (!slope)
      return score;
    Value distance = arith::SubIOp::create(b, key, add_(place0, place));
    Value wideDistance =
        arith::SIToFPOp::create(b, b.getF32Type(), arith::IndexCastOp::create(b, b.getI32Type(), distance));
    return fma(slope, wideDistance, score);
  }

  struct QueryRow {
    Row elements, outGradient;
    Value logarithm, delta, slope; // delta: the sum of out times its gradient
  };
  QueryRow readQuery(ValueRange at) {
    QueryRow query;
    query.elements = readRow(ins[0], at, keyDim);
    query.outGradient = readRow(ins[5], at, valueDim);
    query.delta = dot(query.outGradient, readRow(ins[3], at, valueDim));
    query.logarithm = w.load(ins[4], at);
    query.slope = slopes ? wide(w.load(slopes, {at[2], at[3]})) : Value();
    return query;
  }
  /// Of one score: its power, and its gradient times the scale.
  std::pair<Value, Value> ofScore(const QueryRow &query, const Row &keyRow, const Row &value, Value key,
                                  ArrayRef<Value> at) {
    Value score = scoreOfRows(query.elements, keyRow, key, at[1], query.slope);
    Value power = math::ExpOp::create(b, sub(score, query.logarithm));
    Value gradient = mul(power, sub(dot(query.outGradient, value), query.delta));
    return {power, mul(gradient, number(float(scale)))};
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  Value row, lane, place0; // place0: of the first query among the keys
};

/// Operands may be of f32, or of bf16 with logarithms and slopes in f32.
LogicalResult checkTypes(Operation *op) {
  for (Value operand : op->getOperands())
    if (getElementTypeOrSelf(operand.getType()).isF64())
      return op->emitError("no kernel of attention takes f64");
  return success();
}

} // namespace

FailureOr<SmallVector<Kernel>> buildAttentionKernels(Operation *op, ModuleOp kernels, StringRef name) {
  if (failed(checkTypes(op)))
    return failure();
  SmallVector<Kernel> result;
  auto add = [&](StringRef suffix, auto write) {
    KernelWriter w(op, kernels, (name + suffix).str());
    if (failed(w.begin()))
      return failure();
    write(w);
    result.push_back(w.finish());
    return success();
  };
  if (auto forward = dyn_cast<ppcrt::AttentionOp>(op)) {
    AttentionProblem problem(forward);
    if (failed(add("", [&](KernelWriter &w) {
          fitsTensorCores(problem) ? writeTiledAttention(w, problem) : AttentionWriter(w, problem).forward();
        })))
      return failure();
    return result;
  }
  AttentionProblem problem(cast<ppcrt::AttentionBackwardOp>(op));
  if (problem.statistics) {
    if (failed(add("_rows", [&](KernelWriter &w) { writePreparation(w, problem); })) ||
        failed(add("_scores", [&](KernelWriter &w) { writeOnePass(w, problem); })))
      return failure();
    result[0].share = 0, result[1].share = 1;
    return result;
  }
  if (fitsTensorCores(problem)) {
    // Sums of both gradients in the registers of a thread, as far as it has them.
    bool together = problem.keyDim + problem.valueDim <= 256;
    auto keys = [&](bool ofKeys, bool ofValues) {
      return [&problem, ofKeys, ofValues](KernelWriter &w) { writeTiledKeyGradients(w, problem, ofKeys, ofValues); };
    };
    if (failed(add("_queries", [&](KernelWriter &w) { writeTiledQueryGradient(w, problem); })) ||
        failed(add("_keys", keys(true, together))) || (!together && failed(add("_values", keys(false, true)))))
      return failure();
    return result;
  }
  if (failed(add("_queries", [&](KernelWriter &w) { AttentionWriter(w, problem).queryGradient(); })) ||
      failed(add("_keys", [&](KernelWriter &w) { AttentionWriter(w, problem).keyGradients(); })))
    return failure();
  return result;
}

std::optional<Kernel> buildChipAttention(Operation *op, size_t number, ModuleOp kernels, StringRef name,
                                         StringRef chip) {
  auto forward = dyn_cast<ppcrt::AttentionOp>(op);
  auto backward = dyn_cast<ppcrt::AttentionBackwardOp>(op);
  bool hasWarpgroups = chip == "sm_90a", hasTensorMemory = chip == "sm_100a";
  if (!(hasWarpgroups && (forward || backward)) && !(hasTensorMemory && forward))
    return std::nullopt;
  AttentionProblem problem = forward ? AttentionProblem(forward) : AttentionProblem(backward);
  if (!fitsWarpgroups(problem))
    return std::nullopt;
  KernelWriter w(op, kernels, name);
  if (failed(w.begin()))
    return std::nullopt;
  if (forward) {
    hasTensorMemory ? writeTensorMemoryAttention(w, problem) : writeWarpgroupAttention(w, problem);
    return w.finish();
  }
  // Two passes, the first of them where others prepare theirs.
  w.kernel.share = 0.5;
  if (number == 0)
    writeWarpgroupQueryGradient(w, problem);
  else
    writeWarpgroupKeyGradients(w, problem);
  return w.finish();
}

} // namespace mlir::ppc::cuda
