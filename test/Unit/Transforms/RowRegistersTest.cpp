// Values of a row that a thread holds in registers, whatever buffers they are stored in.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "ppc/Transforms/Fusion/RowPhases.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;

namespace {

/// Two sums of rows, scaled elements between them, and later elements that pass through `$`.
constexpr const char *kRegion = R"(
#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @region(%x: memref<16x8192xf32>, %a: memref<16x8192xf32>, %b: memref<16x8192xf32>, %c: memref<16x8192xf32>,
                  %s: memref<16xf32>, %t: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<16xf32>)
  linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<16x8192xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%p: f32, %old: f32):
    %new = arith.addf %old, %p : f32
    linalg.yield %new : f32
  }
  linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
    ins(%x, %s : memref<16x8192xf32>, memref<16xf32>) outs(%a : memref<16x8192xf32>) {
  ^bb0(%p: f32, %q: f32, %old: f32):
    %new = arith.mulf %p, %q : f32
    linalg.yield %new : f32
  }
  linalg.fill ins(%zero : f32) outs(%t : memref<16xf32>)
  linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<16x8192xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%p: f32, %old: f32):
    %new = arith.addf %old, %p : f32
    linalg.yield %new : f32
  }
  linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
    ins(%a, %t : memref<16x8192xf32>, memref<16xf32>) outs($ : memref<16x8192xf32>) {
  ^bb0(%p: f32, %q: f32, %old: f32):
    %new = arith.mulf %p, %q : f32
    linalg.yield %new : f32
  }
  linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
    ins($ : memref<16x8192xf32>) outs(%c : memref<16x8192xf32>) {
  ^bb0(%p: f32, %old: f32):
    %new = arith.mulf %p, %p : f32
    linalg.yield %new : f32
  }
  return
})";

/// Registers of the region with `buffer` instead of `$`.
int64_t registersWith(const std::string &buffer) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, memref::MemRefDialect>();
  std::string text = kRegion;
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 1, buffer);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return -1;
  auto function = *module->getOps<func::FuncOp>().begin();
  std::string why;
  std::optional<RowRegion> region = RowRegion::of(llvm::to_vector(function.front().getOps<linalg::LinalgOp>()), &why);
  EXPECT_TRUE(region) << why;
  return region ? heldRegisters(*region) : -1;
}

} // namespace

TEST(RowRegisters, DoNotDependOnWhichValuesShareABuffer) {
  // 512 threads have 16 elements each, in groups of 4. The row waits for either sum; after the second one, each group
  // of it is live together with four `mulf` results.
  EXPECT_EQ(registersWith("%b"), 16 + 4);
  EXPECT_EQ(registersWith("%a"), 16 + 4);
}
