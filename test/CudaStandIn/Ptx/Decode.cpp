#include "test/CudaStandIn/Ptx/Decode.h"

#include "test/CudaStandIn/Ptx/Fault.h"

#include <unordered_map>
#include <unordered_set>

namespace ptx {
namespace {

bool decodeArithmetic(Instruction &instruction) {
  return decodeInteger(instruction) || decodeFloat(instruction) || decodeSmallFloat(instruction);
}

bool decodeCopy(Instruction &instruction) {
  return instruction.has("bulk") ? decodeBulkCopy(instruction) : decodeAsyncCopy(instruction);
}

const std::unordered_map<std::string_view, Decode> &families() {
  static const std::unordered_map<std::string_view, Decode> table = {
      {"add", decodeArithmetic},
      {"sub", decodeArithmetic},
      {"mul", decodeArithmetic},
      {"mad", decodeArithmetic},
      {"div", decodeArithmetic},
      {"rem", decodeArithmetic},
      {"min", decodeArithmetic},
      {"max", decodeArithmetic},
      {"abs", decodeArithmetic},
      {"neg", decodeArithmetic},
      {"fma", decodeArithmetic},
      {"mul24", decodeArithmetic},
      {"mad24", decodeArithmetic},
      {"sad", decodeArithmetic},
      {"rcp", decodeFloat},
      {"sqrt", decodeFloat},
      {"rsqrt", decodeFloat},
      {"sin", decodeFloat},
      {"cos", decodeFloat},
      {"lg2", decodeFloat},
      {"ex2", decodeArithmetic},
      {"tanh", decodeArithmetic},
      {"copysign", decodeFloat},
      {"and", decodeBits},
      {"or", decodeBits},
      {"xor", decodeBits},
      {"not", decodeBits},
      {"cnot", decodeBits},
      {"shl", decodeBits},
      {"shr", decodeBits},
      {"shf", decodeBits},
      {"bfe", decodeBits},
      {"bfi", decodeBits},
      {"bfind", decodeBits},
      {"brev", decodeBits},
      {"popc", decodeBits},
      {"clz", decodeBits},
      {"prmt", decodeBits},
      {"lop3", decodeBits},
      {"setp", decodeCompare},
      {"set", decodeCompare},
      {"selp", decodeCompare},
      {"slct", decodeCompare},
      {"testp", decodeCompare},
      {"cvt", decodeConvert},
      {"cvta", decodeConvert},
      {"mov", decodeMove},
      {"ld", decodeAccess},
      {"ldu", decodeAccess},
      {"st", decodeAccess},
      {"atom", decodeAtomic},
      {"red", decodeAtomic},
      {"cp", decodeCopy},
      {"shfl", decodeExchange},
      {"mbarrier", decodeMemoryBarrier},
      {"wgmma", decodeWarpgroup},
      {"setmaxnreg", decodeWarpgroup},
      {"tcgen05", decodeTensorMemory},
      {"vote", decodeExchange},
      {"match", decodeExchange},
      {"redux", decodeExchange},
      {"activemask", decodeExchange},
      {"elect", decodeExchange},
      {"ldmatrix", decodeMatrix},
      {"stmatrix", decodeMatrix},
      {"mma", decodeMatrix},
      {"bra", decodeControl},
      {"brx", decodeControl},
      {"ret", decodeControl},
      {"exit", decodeControl},
      {"trap", decodeControl},
      {"bar", decodeControl},
      {"barrier", decodeControl},
      {"membar", decodeControl},
      {"fence", decodeControl},
      {"prefetch", decodeControl},
      {"prefetchu", decodeControl},
      {"nanosleep", decodeControl},
      {"isspacep", decodeControl},
      {"griddepcontrol", decodeControl},
      {"discard", decodeControl},
      {"applypriority", decodeControl},
  };
  return table;
}

// Every modifier that some family understands. Others would change the meaning of an instruction in an unknown way.
bool isKnown(const std::string &modifier) {
  static const std::unordered_set<std::string_view> known = {
      // rounding, special values, precision
      "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "satfinite", "relu", "NaN", "approx",
      "full", "noftz",
      // whole numbers and bits
      "lo", "hi", "wide", "l", "r", "wrap", "clamp", "shiftamt", "cc",
      // comparisons, classes of numbers
      "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "ls", "hs", "finite",
      "infinite", "number", "notanumber", "normal", "subnormal",
      // spaces and memory
      "global", "shared", "shared::cta", "local", "param", "param::entry", "const", "to", "nc", "ca", "cg", "cs", "lu",
      "cv", "wb", "wt", "volatile", "relaxed", "weak", "acquire", "release", "acq_rel", "sc", "gpu", "cta", "sys", "gl",
      "v2", "v4", "v8", "L1", "L2", "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_normal",
      "L1::evict_unchanged", "L2::64B", "L2::128B", "L2::256B", "L2::evict_last", "L2::evict_first", "L2::evict_normal",
      "launch_dependents", "wait",
      // atomic operations, reductions, votes, shuffles
      "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec", "popc", "all", "any", "uni", "ballot", "up",
      "down", "bfly", "idx", "abs", "sync", "aligned", "warp", "arrive", "red",
      // asynchronous copies and matrices
      "async", "commit_group", "wait_group", "wait_all", "m8n8", "x1", "x2", "x4", "trans", "row", "col", "m16n8k16",
      "m16n8k8", "m16n8k4",
      // bulk copies, memory barriers, warpgroups
      "bulk", "tensor", "tile", "1d", "2d", "3d", "4d", "5d", "shared::cluster", "mbarrier::complete_tx::bytes", "init",
      "inval", "arrive", "expect_tx", "test_wait", "try_wait", "parity", "fence", "proxy", "mbarrier_init", "cluster",
      "mma_async", "dec",
      // tensor memory
      "alloc", "dealloc", "relinquish_alloc_permit", "mma", "commit", "ld", "st", "wait::ld", "wait::st",
      "cta_group::1", "kind::f16", "mbarrier::arrive::one", "fence::before_thread_sync", "fence::after_thread_sync",
      "32x32b", "x8", "x16", "x32", "x64", "x128"};
  bool isShape = modifier.rfind("m64n", 0) == 0; // shape modifier of wgmma, which reads it
  return known.count(modifier) || isShape || typeNamed(modifier);
}

} // namespace

std::vector<Type> typesOf(const Instruction &instruction) {
  std::vector<Type> types;
  for (const std::string &modifier : instruction.modifiers)
    if (auto type = typeNamed(modifier))
      types.push_back(*type);
  return types;
}

bool hasOperands(const Instruction &instruction, size_t count) { return instruction.operands.size() == count; }

void decode(Instruction &instruction) {
  for (const std::string &modifier : instruction.modifiers)
    if (!isKnown(modifier))
      throw ParseError(instruction.line,
                       "'." + modifier + "' of instruction '" + instruction.opcode + "' is not known here");
  std::vector<Type> types = typesOf(instruction);
  if (!types.empty()) {
    instruction.type = types.front();
    instruction.source = types.back();
  }
  instruction.flushes = instruction.has("ftz");
  instruction.saturates = instruction.has("sat");
  std::string name = instruction.name();
  auto family = families().find(name);
  if (family == families().end() || !family->second(instruction))
    throw ParseError(instruction.line, "instruction '" + instruction.opcode + "' with " +
                                           std::to_string(instruction.operands.size()) +
                                           " operands is not executed here");
}

} // namespace ptx
