// From the text of an instruction to what executes it. One file per family of instructions; each says of those of its
// names what it executes. What is not executed here is an error that names it, when the module is read.
#pragma once

#include "test/CudaStandIn/Ptx/Module.h"
#include "test/CudaStandIn/Ptx/Warp.h"

namespace ptx {

// Sets `execute` and what it needs. Throws ParseError.
void decode(Instruction &instruction);

// Decoder of a family; returns false if the form is not executed here.
using Decode = bool (*)(Instruction &instruction);
bool decodeInteger(Instruction &instruction); // Integer.cpp: add, mul, mad, div, rem, min, max, abs, neg, sad, mul24
bool decodeBits(Instruction &instruction);    // Bits.cpp: and, or, xor, not, shifts, bit fields, prmt, lop3, popc, clz
bool decodeFloat(Instruction &instruction);   // Float.cpp: f32 and f64
bool decodeSmallFloat(Instruction &instruction);    // SmallFloatMath.cpp: f16, bf16 and pairs of them
bool decodeCompare(Instruction &instruction);       // Compare.cpp: setp, set, selp, slct, testp
bool decodeConvert(Instruction &instruction);       // Convert.cpp: cvt, cvta
bool decodeMove(Instruction &instruction);          // Access.cpp: mov
bool decodeAccess(Instruction &instruction);        // Access.cpp: ld, st
bool decodeAtomic(Instruction &instruction);        // Atomic.cpp: atom, red
bool decodeAsyncCopy(Instruction &instruction);     // AsyncCopy.cpp: cp.async and its groups
bool decodeExchange(Instruction &instruction);      // Exchange.cpp: shfl, vote, match, redux, activemask
bool decodeMatrix(Instruction &instruction);        // Matrix.cpp: ldmatrix, stmatrix, mma
bool decodeBulkCopy(Instruction &instruction);      // BulkCopy.cpp: cp.async.bulk
bool decodeMemoryBarrier(Instruction &instruction); // MemoryBarrier.cpp: mbarrier
bool decodeWarpgroup(Instruction &instruction);     // WarpgroupMma.cpp: wgmma, setmaxnreg
bool decodeTensorMemory(Instruction &instruction);  // TensorMemoryMma.cpp: tcgen05
bool decodeControl(Instruction &instruction);       // Control.cpp: branches, barriers, fences, what does nothing

// The types among the modifiers, in order.
std::vector<Type> typesOf(const Instruction &instruction);
bool hasOperands(const Instruction &instruction, size_t count);

// result = f(a, b, ...) in each lane, for operands 1, 2, ... of type T.
template <class T, class R, class F> void unary(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]);
  Lanes<R> result;
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = F::of(instruction, a[lane]);
  warp.write(instruction.operands[0], result, mask);
}
template <class T, class R, class F> void binary(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]);
  Lanes<R> result;
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = F::of(instruction, a[lane], b[lane]);
  warp.write(instruction.operands[0], result, mask);
}
// The third operand may have another type: the sum of mad.wide.
template <class T, class C, class R, class F> void ternary(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]);
  Lanes<C> c = warp.read<C>(instruction.operands[3]);
  Lanes<R> result;
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = F::of(instruction, a[lane], b[lane], c[lane]);
  warp.write(instruction.operands[0], result, mask);
}

} // namespace ptx
