// What is done for each query before the one pass over scores, and the scratch of both.
#include "AttentionOnePass.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kWidth = 8; // elements that a lane has of a row

class QueryRows {
public:
  QueryRows(KernelWriter &w, const AttentionProblem &p) : w(w), b(w.b), p(p), scratch(p) {}

  /// A few lanes for each row of whole tiles. Rows of no query that sees a key have an infinite logarithm, which makes
  /// powers 0.
  void prepare() {
    int64_t lanes = p.valueDim / kWidth, rowsOfTiles = scratch.tiles * AttentionScratch::queriesOfTile;
    w.kernel.threads = AttentionScratch::threads;
    w.kernel.blocks = llvm::divideCeil(scratch.rows * lanes, w.kernel.threads);
    Value number = add(times(w.asIndex(w.block()), w.kernel.threads), w.asIndex(w.thread()));
    zeroCounters(number);
    // Whole warps: rows of tiles are a multiple of 64.
    if (w.kernel.blocks * w.kernel.threads != scratch.rows * lanes)
      enter(compare(arith::CmpIPredicate::ult, number, w.index(scratch.rows * lanes)));
    Value row = arith::DivUIOp::create(b, number, w.index(lanes));
    Value lane = arith::RemUIOp::create(b, number, w.index(lanes));
    SmallVector<Value> at = w.delinearize(row, {p.batch, p.heads, p.groups, rowsOfTiles});
    Value query = at[3];
    if (rowsOfTiles != p.queries)
      query = arith::MinUIOp::create(b, query, w.index(p.queries - 1));
    SmallVector<Value> place{at[0], query, at[1], at[2]};
    Value delta = deltaOf(place, times(lane, kWidth), lanes);
    Value logarithm = arith::MulFOp::create(b, w.load(p.ins[4], place), constant(kLog2E));
    Value sees = seesKeys(query), isReal = sees;
    if (rowsOfTiles != p.queries) {
      Value there = compare(arith::CmpIPredicate::ult, at[3], w.index(p.queries));
      isReal = sees ? arith::AndIOp::create(b, sees, there).getResult() : there;
    }
    if (isReal) {
      delta = arith::SelectOp::create(b, isReal, delta, constant(0));
      logarithm = arith::SelectOp::create(b, isReal, logarithm, constant(std::numeric_limits<double>::infinity()));
    }
    if (sees)
      zeroGradient(sees, place, lane, lanes);
    enter(compare(arith::CmpIPredicate::eq, lane, w.index(0)));
    store(logarithm, row);
    store(delta, add(row, w.index(scratch.deltas)));
  }

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value times(Value x, int64_t y) { return arith::MulIOp::create(b, x, w.index(y)); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  Value constant(double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value))); }
  void enter(Value condition) {
    b.setInsertionPointToStart(scf::IfOp::create(b, condition, /*withElseRegion=*/false).thenBlock());
  }

  void store(Value value, Value place) {
    Value base = w.map.lookup(p.statistics), number = arith::IndexCastOp::create(b, b.getI64Type(), place);
    LLVM::StoreOp::create(b, value, LLVM::GEPOp::create(b, base.getType(), b.getF32Type(), base, ValueRange(number)),
                          4);
  }

  void zeroCounters(Value thread) {
    OpBuilder::InsertionGuard guard(b);
    int64_t counters = scratch.statisticsWords - scratch.turns, threads = w.kernel.blocks * w.kernel.threads;
    for (int64_t done = 0; done < counters; done += threads) {
      OpBuilder::InsertionGuard inner(b);
      Value own = add(thread, w.index(done));
      enter(compare(arith::CmpIPredicate::ult, own, w.index(counters)));
      store(w.i32(0), add(own, w.index(scratch.turns)));
    }
  }

  /// Null: all do.
  Value seesKeys(Value query) {
    if (!p.first && !(p.causal && p.queries > p.keys))
      return {};
    Value place = add(p.start(w), query), sees;
    if (p.first)
      sees = compare(arith::CmpIPredicate::slt, place, w.index(p.keys));
    if (p.causal) {
      Value late = compare(arith::CmpIPredicate::sge, place, w.index(0));
      sees = sees ? arith::AndIOp::create(b, sees, late).getResult() : late;
    }
    return sees;
  }

  void zeroGradient(Value sees, SmallVector<Value> place, Value lane, int64_t lanes) {
    OpBuilder::InsertionGuard guard(b);
    enter(arith::XOrIOp::create(b, sees, arith::ConstantOp::create(b, b.getBoolAttr(true))));
    int64_t width = p.keyDim / lanes;
    place.push_back(times(lane, width));
    w.store(arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({width}, b.getBF16Type()))), p.outs[0], place,
            width);
  }

  Value deltaOf(SmallVector<Value> place, Value column, int64_t lanes) {
    place.push_back(column);
    auto wide = VectorType::get({kWidth}, b.getF32Type());
    Value out = arith::ExtFOp::create(b, wide, w.load(p.ins[3], place, kWidth));
    Value gradient = arith::ExtFOp::create(b, wide, w.load(p.ins[5], place, kWidth));
    Value sum = constant(0);
    for (int64_t i = 0; i < kWidth; ++i)
      sum = math::FmaOp::create(b, LLVM::ExtractElementOp::create(b, out, w.i32(i)),
                                LLVM::ExtractElementOp::create(b, gradient, w.i32(i)), sum);
    for (int64_t by = lanes / 2; by; by /= 2) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), sum, w.i32(by), w.i32(kWarp - 1),
                                         NVVM::ShflKind::bfly, UnitAttr());
      sum = arith::AddFOp::create(b, sum, other);
    }
    return sum;
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  const AttentionProblem &p;
  AttentionScratch scratch;
};

struct AttentionScratchPass : PassWrapper<AttentionScratchPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttentionScratchPass)
  StringRef getArgument() const override { return "ppc-cuda-attention-scratch"; }
  StringRef getDescription() const override { return "Gradients of attention get scratch for their kernels"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect, ppcrt::PpcRtDialect>();
  }
  void runOnOperation() override {
    getOperation().walk([](ppcrt::AttentionBackwardOp op) {
      if (op.getNumResults() || op.getOuts().size() != 3)
        return;
      AttentionProblem problem(op);
      if (!fitsOnePass(problem))
        return;
      OpBuilder builder(op);
      AttentionScratch scratch(problem);
      for (int64_t words : {scratch.statisticsWords, std::max<int64_t>(1, scratch.sumWords)}) {
        auto type = MemRefType::get({words}, builder.getF32Type());
        op.getOutsMutable().append(memref::AllocOp::create(builder, op.getLoc(), type).getResult());
      }
    });
  }
};

} // namespace

bool fitsOnePass(const AttentionProblem &problem) {
  auto fits = [](int64_t dim) { return dim == 64 || dim == 128; };
  return fitsTensorCores(problem) && fits(problem.keyDim) && fits(problem.valueDim);
}

void writePreparation(KernelWriter &w, const AttentionProblem &problem) { QueryRows(w, problem).prepare(); }

std::unique_ptr<Pass> createAttentionScratchPass() { return std::make_unique<AttentionScratchPass>(); }

} // namespace mlir::ppc::cuda
