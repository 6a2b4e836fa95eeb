// Reordered ops on buffers: results of AccessOrder for random copies, against all pairs of them.
#include "ppc/Transforms/Overlap/AccessOrder.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::ppc;

namespace {

class AccessOrders : public ::testing::Test {
protected:
  AccessOrders() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, memref::MemRefDialect,
                    ppcrt::PpcRtDialect>();
    context.appendDialectRegistry(registry);
  }

  Block &parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return cast<func::FuncOp>(module->getBody()->front()).front();
  }

  bool isKept(const AccessOrder &order) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    return succeeded(order.verify());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// `size` elements of one of two buffers of 8, to others.
struct Copy {
  int64_t from, fromBegin, to, toBegin, size;

  bool conflicts(const Copy &other) const {
    auto meet = [&](int64_t buffer, int64_t begin, int64_t otherBuffer, int64_t otherBegin) {
      return buffer == otherBuffer && begin < otherBegin + other.size && otherBegin < begin + size;
    };
    return meet(to, toBegin, other.to, other.toBegin) || meet(to, toBegin, other.from, other.fromBegin) ||
           meet(from, fromBegin, other.to, other.toBegin);
  }
};

std::string textOf(ArrayRef<Copy> copies) {
  std::string places, text;
  for (auto [i, copy] : llvm::enumerate(copies)) {
    std::string type = llvm::formatv("memref<{0}xf32, strided<[1], offset: ", copy.size);
    auto place = [&](char name, int64_t buffer, int64_t begin) {
      places += llvm::formatv("%{0}{1} = memref.subview %buffer{2}[{3}] [{4}] [1] : memref<8xf32> to {5}{3}>>\n", name,
                              i, buffer, begin, copy.size, type);
    };
    place('f', copy.from, copy.fromBegin);
    place('t', copy.to, copy.toBegin);
    text += llvm::formatv("memref.copy %f{0}, %t{0} : {1}{2}>> to {1}{3}>>\n", i, type, copy.fromBegin, copy.toBegin);
  }
  return "func.func @copies(%buffer0: memref<8xf32>, %buffer1: memref<8xf32>) {\n" + places + text + "return\n}\n";
}

TEST_F(AccessOrders, AreKeptIfNoConflictingPairIsReordered) {
  int64_t kept = 0, lost = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    SmallVector<Copy> copies;
    for (size_t i = 0, count = 2 + random() % 5; i < count; ++i) {
      int64_t size = 1 + int64_t(random() % 3);
      auto begin = [&] { return int64_t(random() % uint32_t(9 - size)); };
      copies.push_back({int64_t(random() % 2), begin(), int64_t(random() % 2), begin(), size});
    }
    Block &block = parse(textOf(copies));
    AccessOrder order(block);
    SmallVector<memref::CopyOp> ops(block.getOps<memref::CopyOp>());
    EXPECT_TRUE(isKept(order));
    auto permuted = llvm::to_vector(llvm::seq<size_t>(copies.size()));
    for (size_t swaps = 1 + random() % 3; swaps; --swaps) { // swaps of neighbours, so that both answers are frequent
      size_t at = random() % (copies.size() - 1);
      std::swap(permuted[at], permuted[at + 1]);
    }
    for (size_t number : permuted)
      ops[number]->moveBefore(block.getTerminator());
    bool expected = true;
    for (size_t i = 0; i < permuted.size(); ++i)
      for (size_t j = i + 1; j < permuted.size(); ++j)
        expected &= permuted[i] < permuted[j] || !copies[permuted[i]].conflicts(copies[permuted[j]]);
    EXPECT_EQ(isKept(order), expected) << textOf(copies);
    ++(expected ? kept : lost);
  }
  EXPECT_GT(std::min(kept, lost), 50);
}

// A loop body may read values that are not operands of its loop, and a collective in flight holds its buffers until its
// wait.
TEST_F(AccessOrders, CountBodiesAndFlights) {
  Block &block = parse(R"(func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
    ppcrt.all_reduce sum group @tp outs(%z : memref<8xf32>)
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%y : memref<8xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %0 = memref.load %x[%i] : memref<8xf32>
      linalg.yield %0 : f32
    }
    memref.copy %z, %x : memref<8xf32> to memref<8xf32>
    return
  }
  ppcrt.group @tp axes ["tp"])");
  AccessOrder order(block);
  auto reduce = cast<ppcrt::AllReduceOp>(block.front());
  Operation *loop = reduce->getNextNode(), *copy = loop->getNextNode();
  loop->moveAfter(copy);
  EXPECT_FALSE(isKept(order));
  loop->moveBefore(reduce); // which it has nothing to do with
  EXPECT_TRUE(isKept(order));
  order.replace(reduce, reduce, loop); // as if it ended there
  EXPECT_TRUE(isKept(order));
  order.replace(reduce, reduce, copy);
  copy->moveBefore(reduce);
  EXPECT_FALSE(isKept(order));
}

} // namespace
