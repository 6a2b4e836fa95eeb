#include "test/CudaStandIn/Ptx/Decode.h"

#include "test/CudaStandIn/Ptx/Fault.h"

#include <unordered_map>

namespace ptx {
namespace {

bool decodeArithmetic(Instruction &instruction) {
  return decodeInteger(instruction) || decodeFloat(instruction) || decodeSmallFloat(instruction);
}

const std::unordered_map<std::string_view, Decode> &families() {
  static const std::unordered_map<std::string_view, Decode> table = {
      {"add", decodeArithmetic},    {"sub", decodeArithmetic},
      {"mul", decodeArithmetic},    {"mad", decodeArithmetic},
      {"div", decodeArithmetic},    {"rem", decodeArithmetic},
      {"min", decodeArithmetic},    {"max", decodeArithmetic},
      {"abs", decodeArithmetic},    {"neg", decodeArithmetic},
      {"fma", decodeArithmetic},    {"mul24", decodeArithmetic},
      {"mad24", decodeArithmetic},  {"sad", decodeArithmetic},
      {"rcp", decodeFloat},         {"sqrt", decodeFloat},
      {"rsqrt", decodeFloat},       {"sin", decodeFloat},
      {"cos", decodeFloat},         {"lg2", decodeFloat},
      {"ex2", decodeArithmetic},    {"tanh", decodeArithmetic},
      {"copysign", decodeFloat},    {"and", decodeBits},
      {"or", decodeBits},           {"xor", decodeBits},
      {"not", decodeBits},          {"cnot", decodeBits},
      {"shl", decodeBits},          {"shr", decodeBits},
      {"shf", decodeBits},          {"bfe", decodeBits},
      {"bfi", decodeBits},          {"bfind", decodeBits},
      {"brev", decodeBits},         {"popc", decodeBits},
      {"clz", decodeBits},          {"prmt", decodeBits},
      {"lop3", decodeBits},         {"setp", decodeCompare},
      {"set", decodeCompare},       {"selp", decodeCompare},
      {"slct", decodeCompare},      {"testp", decodeCompare},
      {"cvt", decodeConvert},       {"cvta", decodeConvert},
      {"mov", decodeMove},          {"ld", decodeAccess},
      {"ldu", decodeAccess},        {"st", decodeAccess},
      {"atom", decodeAtomic},       {"red", decodeAtomic},
      {"cp", decodeAsyncCopy},      {"shfl", decodeExchange},
      {"vote", decodeExchange},     {"match", decodeExchange},
      {"redux", decodeExchange},    {"activemask", decodeExchange},
      {"elect", decodeExchange},    {"ldmatrix", decodeMatrix},
      {"stmatrix", decodeMatrix},   {"mma", decodeMatrix},
      {"bra", decodeControl},       {"brx", decodeControl},
      {"ret", decodeControl},       {"exit", decodeControl},
      {"trap", decodeControl},      {"bar", decodeControl},
      {"barrier", decodeControl},   {"membar", decodeControl},
      {"fence", decodeControl},     {"prefetch", decodeControl},
      {"prefetchu", decodeControl}, {"nanosleep", decodeControl},
      {"isspacep", decodeControl},  {"griddepcontrol", decodeControl},
      {"discard", decodeControl},   {"applypriority", decodeControl},
  };
  return table;
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
