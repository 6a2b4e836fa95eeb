// Shards of tensors on each rank: sharded by hand-worked examples and assembled again, and invalid shardings.
#include "ppc/Interpreter/ShardedTensors.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/RankGrid.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <limits>

using namespace mlir;
using namespace mlir::ppc;

namespace {

using Values = std::vector<double>;

class ShardedTensors : public testing::Test {
protected:
  ShardedTensors() {
    context.loadDialect<PpcDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { message = diagnostic.str(); });
  }
  GridAttr grid(StringRef text) { return cast<GridAttr>(parseAttribute(("#ppc.grid<" + text + ">").str(), &context)); }
  ShardingAttr sharding(StringRef text) {
    return cast<ShardingAttr>(parseAttribute(("#ppc.sharding<" + text + ">").str(), &context));
  }
  FailureOr<ReferenceTensor> assemble(ArrayRef<ReferenceTensor> locals, ArrayRef<int64_t> shape, ShardingAttr sharding,
                                      GridAttr grid, const AssembleOptions &options = {}) {
    message.clear();
    return assembleTensor(locals, shape, sharding, grid, [&] { return emitError(UnknownLoc::get(&context)); }, options);
  }

  MLIRContext context;
  std::string message;
};

/// 1, 2, 3, ... in row-major order.
ReferenceTensor counting(ArrayRef<int64_t> shape) {
  ReferenceTensor tensor(shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.data[i] = double(i + 1);
  return tensor;
}

} // namespace

TEST_F(ShardedTensors, RanksAreRowMajorOverTheGrid) {
  RankGrid ranks(grid("pp = 2, dp = 3, tp = 4"));
  EXPECT_EQ(ranks.rankCount(), 24);
  EXPECT_EQ(ranks.coordinate(23, "pp"), 1);
  EXPECT_EQ(ranks.coordinate(7, "dp"), 1);
  EXPECT_EQ(ranks.coordinate(7, "tp"), 3);
  EXPECT_EQ(ranks.coordinate(7, "ep"), 0);
  EXPECT_EQ(ranks.index(7, {"tp", "dp"}), 3 * 3 + 1);
  EXPECT_EQ(ranks.group(13, {"pp", "dp"}), (SmallVector<int64_t>{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(ranks.group(13, {"dp", "pp"}), (SmallVector<int64_t>{1, 13, 5, 17, 9, 21}));
  EXPECT_EQ(ranks.group(13, {}), (SmallVector<int64_t>{13}));
}

TEST_F(ShardedTensors, ShardsAreBlocksPaddedWithZeros) {
  SmallVector<ReferenceTensor> locals = cutTensor(counting({3, 2}), sharding("[{tp}, {}]"), grid("dp = 2, tp = 2"));
  ASSERT_EQ(locals.size(), 4u);
  EXPECT_EQ(locals[0].data, (Values{1, 2, 3, 4}));
  EXPECT_EQ(locals[1].data, (Values{5, 6, 0, 0}));
  EXPECT_EQ(locals[2].data, locals[0].data); // replicas along dp
  EXPECT_EQ(locals[3].data, locals[1].data);
}

TEST_F(ShardedTensors, SeveralAxesAreMajorToMinor) {
  SmallVector<ReferenceTensor> locals = cutTensor(counting({4}), sharding("[{tp, dp}]"), grid("dp = 2, tp = 2"));
  EXPECT_EQ(locals[0].data, (Values{1})); // dp 0, tp 0
  EXPECT_EQ(locals[1].data, (Values{3})); // dp 0, tp 1
  EXPECT_EQ(locals[2].data, (Values{2})); // dp 1, tp 0
  EXPECT_EQ(locals[3].data, (Values{4}));
}

TEST_F(ShardedTensors, PartialValuesAreWholeOnCoordinateZero) {
  double infinity = std::numeric_limits<double>::infinity();
  SmallVector<ReferenceTensor> sums = cutTensor(counting({2}), sharding("[{}], partial = {tp: sum}"), grid("tp = 2"));
  EXPECT_EQ(sums[0].data, (Values{1, 2}));
  EXPECT_EQ(sums[1].data, (Values{0, 0}));
  SmallVector<ReferenceTensor> lses =
      cutTensor(counting({2}), sharding("[{}], partial = {tp: log_sum_exp}"), grid("tp = 2"));
  EXPECT_EQ(lses[1].data, (Values{-infinity, -infinity}));
}

TEST_F(ShardedTensors, AssemblingShardsRestoresTheTensor) {
  ReferenceTensor whole = counting({5, 3, 4});
  for (StringRef text :
       {"[{}, {}, {}]", "[{a}, {}, {}]", "[{a, b}, {}, {c}]", "[{c}, {b}, {a}]", "[{b}, {}, {}], partial = {c: sum}",
        "[{}, {a}, {}], partial = {c: max, b: max}", "[{}, {}, {}], partial = {a: log_sum_exp, b: sum, c: max}"})
    for (StringRef sizes : {"a = 2, b = 3, c = 2", "c = 4, a = 1, b = 2", "b = 6, c = 3, a = 3"}) {
      AssembleOptions options;
      options.zeroPadding = {0, 1, 2};
      bool isSum = !text.contains("max") && !text.contains("log");
      FailureOr<ReferenceTensor> again = assemble(cutTensor(whole, sharding(text), grid(sizes)), whole.shape,
                                                  sharding(text), grid(sizes), isSum ? options : AssembleOptions());
      ASSERT_TRUE(succeeded(again)) << text.str() << " over " << sizes.str() << ": " << message;
      EXPECT_EQ(again->data, whole.data) << text.str() << " over " << sizes.str();
    }
}

TEST_F(ShardedTensors, PartsAreCombined) {
  SmallVector<ReferenceTensor> locals = {ReferenceTensor({2}, 1), ReferenceTensor({2}, 3)};
  EXPECT_EQ(assemble(locals, {2}, sharding("[{}], partial = {tp: sum}"), grid("tp = 2"))->data, (Values{4, 4}));
  EXPECT_EQ(assemble(locals, {2}, sharding("[{}], partial = {tp: max}"), grid("tp = 2"))->data, (Values{3, 3}));
  EXPECT_NEAR(combine(Combiner::LogSumExp, 1000, 1000), 1000 + std::log(2), 1e-12);
  EXPECT_EQ(combine(Combiner::LogSumExp, neutralValue(Combiner::LogSumExp), 7), 7);
  EXPECT_EQ(combine(Combiner::LogSumExp, neutralValue(Combiner::Max), neutralValue(Combiner::Max)),
            -std::numeric_limits<double>::infinity());
}

TEST_F(ShardedTensors, ReplicasThatDifferAreAnError) {
  SmallVector<ReferenceTensor> locals = {counting({2}), counting({2})};
  locals[1].data[1] = 2.5;
  EXPECT_TRUE(failed(assemble(locals, {2}, sharding("[{}]"), grid("dp = 2"))));
  EXPECT_EQ(message, "element [1] is 2.000000e+00 on rank 0 and 2.500000e+00 on rank 1 under #ppc.sharding<[{}]>");
  locals[1].data[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(failed(assemble(locals, {2}, sharding("[{}]"), grid("dp = 2"))));
}

TEST_F(ShardedTensors, PaddingThatMustBeZeroIsChecked) {
  SmallVector<ReferenceTensor> locals = cutTensor(counting({3}), sharding("[{tp}]"), grid("tp = 2"));
  locals[1].data[1] = 0.5;
  EXPECT_TRUE(succeeded(assemble(locals, {3}, sharding("[{tp}]"), grid("tp = 2"))));
  AssembleOptions options;
  options.zeroPadding = {0};
  EXPECT_TRUE(failed(assemble(locals, {3}, sharding("[{tp}]"), grid("tp = 2"), options)));
  EXPECT_EQ(message, "element [3] is padding and 5.000000e-01 on rank 1, expected 0");
}

TEST_F(ShardedTensors, WrongLocalShapesAreAnError) {
  EXPECT_TRUE(failed(assemble({counting({2}), counting({1})}, {3}, sharding("[{tp}]"), grid("tp = 2"))));
  EXPECT_EQ(message, "rank 1 holds a tensor of shape [1], expected [2] for [3] under #ppc.sharding<[{tp}]>");
}
