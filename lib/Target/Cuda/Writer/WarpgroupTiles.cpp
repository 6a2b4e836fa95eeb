#include "WarpgroupTiles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::ppc::cuda {

constexpr int64_t kRowsTogether = 8; // in 1,024 bytes
constexpr int64_t kTogetherBytes = kRowsTogether * SwizzledTile::rowBytes;

Value WarpgroupTiles::declareShared(int64_t bytes) {
  w.kernel.sharedBytes = bytes;
  std::string name = w.kernel.name + "_tiles";
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(w.kernels.getBody());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false, LLVM::Linkage::External,
                           name, Attribute(), /*alignment=*/kTogetherBytes, kSharedSpace);
  }
  Value base = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), name);
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), base);
}

void WarpgroupTiles::emit(StringRef text, StringRef constraints, ValueRange operands) {
  std::string all = constraints.str() + (constraints.empty() ? "" : ",") + "~{memory}";
  LLVM::InlineAsmOp::create(b, TypeRange(), operands, text, all, /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void WarpgroupTiles::initialize(Value barrier, int64_t arrivals) {
  emit("mbarrier.init.shared::cta.b64 [$0], " + std::to_string(arrivals) + ";", "r", barrier);
}
void WarpgroupTiles::showBarriers() { emit("fence.mbarrier_init.release.cluster;", "", {}); }
void WarpgroupTiles::arrive(Value barrier) { emit("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", barrier); }
void WarpgroupTiles::expect(Value barrier, int64_t bytes) {
  emit("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + std::to_string(bytes) + ";", "r", barrier);
}
void WarpgroupTiles::waitFor(Value barrier, Value parity) {
  emit("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n@!done bra AGAIN;\n}",
       "r,r", {barrier, parity});
}

void WarpgroupTiles::copyBox(Value to, Value map, ArrayRef<Value> coordinates, Value barrier) {
  std::string places, constraints = "r,l,r";
  SmallVector<Value> operands{to, map, barrier};
  for (Value coordinate : coordinates) {
    places += (places.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += ",r";
    operands.push_back(coordinate);
  }
  emit("cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
           "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" + places + "}], [$2];",
       constraints, operands);
}

void WarpgroupTiles::sync(Value number, int64_t threads) {
  emit("bar.sync $0, " + std::to_string(threads) + ";", "r", number);
}
void WarpgroupTiles::arriveAt(Value number, int64_t threads) {
  emit("bar.arrive $0, " + std::to_string(threads) + ";", "r", number);
}
void WarpgroupTiles::syncWarp() { emit("bar.warp.sync 0xffffffff;", "", {}); }
void WarpgroupTiles::setRegisters(int64_t ofThread, bool takes) {
  emit(std::string("setmaxnreg.") + (takes ? "inc" : "dec") + ".sync.aligned.u32 " + std::to_string(ofThread) + ";", "",
       {});
}

static Value moved(ImplicitLocOpBuilder &b, StringRef text, StringRef constraints, ValueRange operands) {
  return LLVM::InlineAsmOp::create(b, b.getI32Type(), operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}
Value WarpgroupTiles::threadAgain() { return moved(b, "mov.u32 $0, %tid.x;", "=r", {}); }
Value WarpgroupTiles::unknown(Value number) { return moved(b, "mov.u32 $0, $1;", "=r,r", number); }

Value WarpgroupTiles::number(Value thread) {
  Value own = arith::ShRUIOp::create(b, thread, w.i32(7));
  return NVVM::ShflOp::create(b, b.getI32Type(), w.i32(-1), own, w.i32(0), w.i32(kWarp - 1), NVVM::ShflKind::idx,
                              UnitAttr());
}

Value WarpgroupTiles::descriptor(Value address, int64_t leading, int64_t flags) {
  constexpr int64_t swizzle128 = int64_t(1) << 62;
  int64_t fixed = flags | swizzle128 | (kTogetherBytes >> 4) << 32 | (leading >> 4) << 16;
  Value place = arith::AndIOp::create(b, arith::ShRUIOp::create(b, address, w.i32(4)), w.i32(0x3fff));
  place = arith::ExtUIOp::create(b, b.getI64Type(), place);
  return arith::OrIOp::create(b, place, arith::ConstantOp::create(b, b.getI64IntegerAttr(fixed)));
}

/// An instruction with these operands after the sums: $0 to $(count - 1).
static std::string productText(int64_t count, const std::string &left, const std::string &right, bool adds,
                               bool leftInRegisters, bool overRows) {
  std::string sums;
  for (int64_t i = 0; i < count; ++i)
    sums += (i ? ", $" : "$") + std::to_string(i);
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(2 * count) + "k16.f32.bf16.bf16 {" + sums + "}, " + left +
         ", " + right + (adds ? ", 1" : ", 0") + ", 1, 1" + (leftInRegisters ? "" : ", 0") +
         (overRows ? ", 1" : ", 0") + ";\n";
}

/// "add.s64 NAME, $OPERAND, BYTES / 16".
static std::string advanced(StringRef name, int64_t operand, int64_t bytes) {
  return ("add.s64 " + name + ", $" + llvm::Twine(operand) + ", " + llvm::Twine(bytes >> 4) + ";\n").str();
}

/// One text, so that nothing lies between the instructions of a product; its sums are results.
WarpgroupTiles::Registers WarpgroupTiles::emitProduct(std::string text, int64_t count, ValueRange sums,
                                                      ArrayRef<std::pair<Value, char>> operands) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(size_t(count), b.getF32Type()));
  std::string constraints;
  for (int64_t i = 0; i < count; ++i)
    constraints += i ? ",=f" : "=f";
  SmallVector<Value> all;
  for (auto [value, kind] : operands) {
    constraints += std::string(",") + kind;
    all.push_back(value);
  }
  for (auto [i, sum] : llvm::enumerate(sums)) {
    constraints += "," + std::to_string(i);
    all.push_back(sum);
  }
  auto product = LLVM::InlineAsmOp::create(b, type, all, text, constraints + ",~{memory}", /*has_side_effects=*/true,
                                           /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                           ArrayAttr());
  Registers results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, product.getResult(0), i));
  return results;
}

static std::string asProduct(const std::string &steps) {
  return "{\n.reg .b64 left, right;\nwgmma.fence.sync.aligned;\n" + steps + "wgmma.commit_group.sync.aligned;\n}";
}

WarpgroupTiles::Registers WarpgroupTiles::multiplyRows(SwizzledTile left, Value row, SwizzledTile right) {
  int64_t count = right.rows / 2;
  Value address = i32Add(left.address, arith::MulIOp::create(b, row, w.i32(SwizzledTile::rowBytes)));
  std::string steps;
  for (int64_t k = 0; k < left.dim / kStep; ++k) {
    steps += advanced("left", count, left.bytesToColumns(k)) + advanced("right", count + 1, right.bytesToColumns(k));
    steps += productText(count, "left", "right", k > 0, /*leftInRegisters=*/false, /*overRows=*/false);
  }
  return emitProduct(asProduct(steps), count, {},
                     {{descriptor(address, kStep), 'l'}, {descriptor(right.address, kStep), 'l'}});
}

static std::string fragment(int64_t first) {
  std::string text;
  for (int64_t i = 0; i < 4; ++i)
    text += (i ? ", $" : "{$") + std::to_string(first + i);
  return text + "}";
}

WarpgroupTiles::Registers WarpgroupTiles::multiplyRows(ArrayRef<Registers> left, SwizzledTile right) {
  int64_t count = right.rows / 2;
  std::string steps;
  SmallVector<std::pair<Value, char>> operands{{descriptor(right.address, kStep), 'l'}};
  for (auto [k, registers] : llvm::enumerate(left)) {
    steps += advanced("right", count, right.bytesToColumns(int64_t(k)));
    steps += productText(count, fragment(count + int64_t(operands.size())), "right", k > 0, true, false);
    for (Value one : registers)
      operands.push_back({one, 'r'});
  }
  return emitProduct(asProduct(steps), count, {}, operands);
}

WarpgroupTiles::Registers WarpgroupTiles::addColumns(ArrayRef<Registers> left, SwizzledTile right, ValueRange sums) {
  auto count = int64_t(sums.size());
  std::string steps;
  SmallVector<std::pair<Value, char>> operands{{descriptor(right.address, right.pieceBytes()), 'l'}};
  for (auto [k, registers] : llvm::enumerate(left)) {
    steps += advanced("right", count, int64_t(k) * kStep * SwizzledTile::rowBytes);
    steps += productText(count, fragment(count + int64_t(operands.size())), "right", true, true, true);
    for (Value one : registers)
      operands.push_back({one, 'r'});
  }
  return emitProduct(asProduct(steps), count, sums, operands);
}

WarpgroupTiles::Registers WarpgroupTiles::waitFor(unsigned pending, ValueRange results) {
  return emitProduct("wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", int64_t(results.size()), results,
                     {});
}

} // namespace mlir::ppc::cuda
