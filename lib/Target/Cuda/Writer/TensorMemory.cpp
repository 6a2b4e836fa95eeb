#include "TensorMemory.h"

namespace mlir::ppc::cuda {

constexpr int64_t kDescriptor = int64_t(1) << 46; // what descriptors of this architecture have besides
constexpr int64_t kLoadedTogether = 32;           // columns of an instruction

/// What an instruction is told besides: sums in f32, factors in bf16, the right one with its columns along rows or not,
/// columns of the result, 128 rows (PTX ISA, "Instruction descriptor").
static int64_t instructionDescriptor(int64_t columns, bool overRows) {
  constexpr int64_t sumsF32 = 1 << 4, leftBf16 = 1 << 7, rightBf16 = 1 << 10, rightOverRows = 1 << 16;
  return sumsF32 | leftBf16 | rightBf16 | (overRows ? rightOverRows : 0) | columns / 8 << 17 |
         TensorMemory::rows / 16 << 24;
}

void TensorMemory::emit(StringRef text, StringRef constraints, ValueRange operands) {
  std::string all = constraints.str() + (constraints.empty() ? "" : ",") + "~{memory}";
  LLVM::InlineAsmOp::create(b, TypeRange(), operands, text, all, /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void TensorMemory::allocate(Value place) {
  emit("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$0], " + std::to_string(columns) +
           ";\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
       "r", place);
}
void TensorMemory::release(Value address) {
  emit("tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, " + std::to_string(columns) + ";", "r", address);
}

/// The instructions of a product, which share what they are told: "$3", and `adds` for the first of them.
static std::string productText(const std::string &steps) {
  return "{\n.reg .b64 left, right;\n.reg .b32 part;\n.reg .pred adds, always;\nsetp.ne.b32 adds, $4, 0;\n"
         "setp.eq.b32 always, $4, $4;\n" +
         steps + "}";
}
static std::string instruction(StringRef left, bool isFirst) {
  return ("tcgen05.mma.cta_group::1.kind::f16 [$0], " + left + ", right, $3, " + (isFirst ? "adds" : "always") + ";\n")
      .str();
}
/// "add.TYPE NAME, $OPERAND, AMOUNT;".
static std::string advanced(StringRef type, StringRef name, int64_t operand, int64_t amount) {
  return ("add." + type + " " + name + ", $" + llvm::Twine(operand) + ", " + llvm::Twine(amount) + ";\n").str();
}

void TensorMemory::multiplyRows(Value sums, SwizzledTile left, SwizzledTile right) {
  std::string steps;
  for (int64_t k = 0; k < left.dim / kStep; ++k)
    steps += advanced("s64", "left", 1, left.bytesToColumns(k) >> 4) +
             advanced("s64", "right", 2, right.bytesToColumns(k) >> 4) + instruction("left", k == 0);
  emit(productText(steps), "r,l,l,r,r",
       {sums, tiles.descriptor(left.address, kStep, kDescriptor), tiles.descriptor(right.address, kStep, kDescriptor),
        w.i32(instructionDescriptor(right.rows, /*overRows=*/false)), w.i32(0)});
}

void TensorMemory::addColumns(Value sums, Value left, SwizzledTile right, Value adds) {
  std::string steps;
  for (int64_t k = 0; k < right.rows / kStep; ++k)
    steps += advanced("s32", "part", 1, k * kStep / 2) +
             advanced("s64", "right", 2, k * kStep * SwizzledTile::rowBytes >> 4) + instruction("[part]", k == 0);
  emit(productText(steps), "r,r,l,r,r",
       {sums, left, tiles.descriptor(right.address, right.pieceBytes(), kDescriptor),
        w.i32(instructionDescriptor(right.dim, /*overRows=*/true)), adds});
}

void TensorMemory::commit(Value barrier) {
  emit("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$0];", "r", barrier);
}

Value TensorMemory::ofWarp(Value address, Value warp) {
  Value place = arith::AndIOp::create(b, warp, w.i32(kWarpgroup / kWarp - 1));
  return arith::AddIOp::create(b, address, arith::ShLIOp::create(b, place, w.i32(16 + 5)));
}

/// "{$FIRST, ...}".
static std::string listed(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "{$") + std::to_string(first + i);
  return text + "}";
}

TensorMemory::Registers TensorMemory::load(Value address, int64_t count) {
  std::string text = "{\n.reg .b32 part;\n", constraints;
  for (int64_t column = 0; column < count; column += kLoadedTogether)
    text += advanced("s32", "part", count, column) + "tcgen05.ld.sync.aligned.32x32b.x" +
            std::to_string(kLoadedTogether) + ".b32 " + listed(column, kLoadedTogether) + ", [part];\n";
  for (int64_t i = 0; i < count; ++i)
    constraints += "=&f,";
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(size_t(count), b.getF32Type()));
  auto loaded = LLVM::InlineAsmOp::create(b, type, ValueRange(address), text + "tcgen05.wait::ld.sync.aligned;\n}",
                                          constraints + "r,~{memory}",
                                          /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                          LLVM::AsmDialectAttr(), ArrayAttr());
  Registers all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(LLVM::ExtractValueOp::create(b, loaded.getResult(0), i));
  return all;
}

void TensorMemory::store(Value address, ValueRange words) {
  auto count = int64_t(words.size());
  std::string constraints = "r";
  SmallVector<Value> operands{address};
  for (Value word : words) {
    constraints += word.getType().isF32() ? ",f" : ",r";
    operands.push_back(word);
  }
  emit("tcgen05.st.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 [$0], " + listed(1, count) + ";", constraints,
       operands);
}
void TensorMemory::waitForStores() { emit("tcgen05.wait::st.sync.aligned;", "", {}); }
void TensorMemory::beforeTelling() { emit("tcgen05.fence::before_thread_sync;", "", {}); }
void TensorMemory::afterBeingTold() { emit("tcgen05.fence::after_thread_sync;", "", {}); }

} // namespace mlir::ppc::cuda
