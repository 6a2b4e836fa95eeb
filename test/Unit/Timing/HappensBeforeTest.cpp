// The happens-before order of random programs, against all paths through all events.
#include "RandomProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "ppc/Timing/BufferLifetimes.h"
#include "ppc/Timing/LinearOrder.h"
#include "ppc/Timing/UseOrder.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

class HappensBefore : public ::testing::Test {
protected:
  HappensBefore() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, PpcDialect, ppcrt::PpcRtDialect>();
    context.appendDialectRegistry(registry);
  }

  /// Programs of `seed`, `seed` + 1, ...
  void forEach(uint32_t seed, uint32_t count,
               function_ref<void(const RandomProgram &, ppcrt::ProgramOp, ppcrt::ProgramSymbols &)> check) {
    for (uint32_t i = seed; i < seed + count && !HasFailure(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(i));
      RandomProgram random(i);
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(random.text(), &context);
      ASSERT_TRUE(module) << random.text();
      ppcrt::ProgramOp program = ppcrt::findProgram(*module);
      ppcrt::ProgramSymbols symbols(program);
      check(random, program, symbols);
      if (HasFailure())
        llvm::errs() << random.text();
    }
  }

  MLIRContext context;
};

} // namespace

TEST_F(HappensBefore, OrderAndClocksMatchAllPaths) {
  int64_t sound = 0, circles = 0;
  forEach(1, 3000, [&](const RandomProgram &random, ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols) {
    FailureOr<StepEvents> events = StepEvents::build(program, symbols, /*isEvaluation=*/false);
    ASSERT_TRUE(succeeded(events));
    ASSERT_EQ(events->getActivities().size(), random.getActions().size());
    size_t notes = 0;
    ScopedDiagnosticHandler diagnostics(&context, [&](Diagnostic &error) {
      notes = llvm::range_size(error.getNotes());
      return success();
    });
    FailureOr<std::vector<Event>> order = findLinearOrder(*events);
    ASSERT_EQ(failed(order), random.waitsForEver());
    if (failed(order)) {
      EXPECT_GE(notes, 2u);
      ++circles;
      return;
    }
    ++sound;
    (void)followClocks(*events, *order, [&](uint32_t second, Clock ended) {
      for (uint32_t first = 0; first < random.getActions().size(); ++first)
        EXPECT_EQ(hasEnded(events->getActivities()[first], ended), random.endsBefore(first, second))
            << first << " and " << second;
      return success();
    });
  });
  EXPECT_GT(sound, 500);
  EXPECT_GT(circles, 300);
}

TEST_F(HappensBefore, BuffersAreApartWhereAllUsesAre) {
  forEach(10001, 2000, [&](const RandomProgram &random, ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols) {
    if (random.waitsForEver())
      return;
    BufferUses uses(program, symbols);
    FailureOr<BufferLifetimes> lifetimes = BufferLifetimes::compute(program, symbols, uses);
    ASSERT_TRUE(succeeded(lifetimes));
    auto usesOf = [&](size_t device, size_t buffer) {
      std::vector<std::pair<size_t, size_t>> result; // first and last action of each path
      for (auto [number, action] : llvm::enumerate(random.getActions()))
        for (auto [used, last] : llvm::zip_equal(action.buffers, action.lasts))
          if (action.device == device && used == buffer)
            result.push_back({number, last});
      return result;
    };
    for (size_t device = 0; device < program.getDevices().size(); ++device)
      for (size_t a = 0; a < kBuffersPerDevice; ++a)
        for (size_t b = 0; b < a; ++b) {
          auto ofA = usesOf(device, a), ofB = usesOf(device, b);
          auto allBefore = [&](const auto &first, const auto &second) {
            return llvm::all_of(first, [&](auto one) {
              return llvm::all_of(second, [&](auto other) { return random.endsBefore(one.second, other.first); });
            });
          };
          EXPECT_EQ(lifetimes->areApart(uses.firstBuffer(device) + a, uses.firstBuffer(device) + b),
                    allBefore(ofA, ofB) || allBefore(ofB, ofA));
        }
  });
}

TEST_F(HappensBefore, UsesThatNothingOrdersAreFound) {
  int64_t races = 0, ordered = 0;
  forEach(20001, 3000, [&](const RandomProgram &random, ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols) {
    if (random.waitsForEver())
      return;
    bool expected = false; // whether any two uses of a buffer race, here each a write
    for (auto [i, one] : llvm::enumerate(random.getActions()))
      for (auto [j, other] : llvm::enumerate(random.getActions()))
        for (auto [buffer, last] : llvm::zip_equal(one.buffers, one.lasts))
          for (auto [otherBuffer, otherLast] : llvm::zip_equal(other.buffers, other.lasts))
            expected |= i < j && one.device == other.device && buffer == otherBuffer && !random.endsBefore(last, j) &&
                        !random.endsBefore(otherLast, i);
    FailureOr<StepEvents> events = StepEvents::build(program, symbols, /*isEvaluation=*/false);
    ASSERT_TRUE(succeeded(events));
    FailureOr<std::vector<Event>> order = findLinearOrder(*events);
    ASSERT_TRUE(succeeded(order));
    BufferUses uses(program, symbols);
    UseOrder places(*events, uses.getBuffers().size());
    LogicalResult found = followClocks(*events, *order, [&](uint32_t activity, Clock ended) {
      for (const BufferUse &use : uses.of(events->getActivities()[activity].op))
        if (places.add(use.buffer, events->endOfUse(activity, use.early), ended, /*isWrite=*/true))
          return failure();
      return success();
    });
    EXPECT_EQ(failed(found), expected);
    (expected ? races : ordered)++;
  });
  EXPECT_GT(races, 300);
  EXPECT_GT(ordered, 300);
}
