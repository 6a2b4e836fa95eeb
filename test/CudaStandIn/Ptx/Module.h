// PTX as data: output of the parser and input of the executor. Names are resolved: registers and variables are numbers,
// labels are instruction indices.
#pragma once

#include "test/CudaStandIn/Ptx/Type.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

class Warp;

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

enum class Special : uint8_t {
  ThreadX,
  ThreadY,
  ThreadZ,
  BlockDimX,
  BlockDimY,
  BlockDimZ,
  BlockX,
  BlockY,
  BlockZ,
  GridDimX,
  GridDimY,
  GridDimZ,
  Lane,
  WarpIndex,
  WarpCount,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
  DynamicShared,
  TotalShared,
  Multiprocessor,
  MultiprocessorCount,
  Clock,
  WarpSize,
};

struct Operand {
  enum Kind : uint8_t {
    Register,  // reg; `negated` for "!%p"
    Immediate, // value: the bits
    SpecialRegister,
    Vector,  // elements: {a, b}; also the two destinations of "a|b", and the list of a call
    Address, // [reg + value], reg -1 for [value]
    Label,   // value: an instruction index
    Discard, // "_"
  };
  Kind kind = Discard;
  bool negated = false;
  bool wide = false; // an immediate written as a decimal number of floating point (0d...)
  Special special = Special::Lane;
  int reg = -1;
  uint64_t value = 0;
  std::vector<Operand> elements;
  std::string symbol; // variable or label that `value` resolves; for messages and until it is resolved
};

// Effect of an instruction on the order of execution.
enum class Flow : uint8_t {
  Next,
  Branch, // to operand 0
  IndexedBranch,
  Exit,
  Converge,     // executed by the lanes that `members` names together, or by all that live if it names none
  BlockBarrier, // as Converge, then waits for other warps
};

struct Instruction;
// Executes the instruction for the lanes of `mask`.
using Execute = void (*)(Warp &warp, const Instruction &instruction, uint32_t mask);

struct Instruction {
  std::string opcode;                 // as written, with its modifiers
  std::vector<std::string> modifiers; // modifiers after the name, split at dots
  std::vector<Operand> operands;
  int guard = -1; // register of the predicate
  bool guardNegated = false;
  int line = 0;
  int architecture = 0;   // architecture of the module: 80 for sm_80
  std::vector<int> scope; // where its labels are looked up; of no use afterwards

  // Set by decode(); what they mean is up to the family of the instruction.
  Execute execute = nullptr;
  Type type = Type::B32, source = Type::B32;
  Space space = Space::Generic;
  bool flushes = false, saturates = false; // .ftz, .sat
  int count = 1;                           // elements of a vector access
  uint32_t variant = 0;
  Flow flow = Flow::Next;
  int members = -1; // operand with the mask of lanes

  std::string name() const { return opcode.substr(0, opcode.find('.')); }
  bool has(std::string_view modifier) const;
};

// A variable of the module or of a function.
struct Variable {
  std::string name;
  Space space = Space::Global;
  int64_t bytes = 0;
  int64_t alignment = 1;
  uint64_t address = 0;         // in its space; of a global variable once the module is loaded
  bool isExternal = false;      // shared memory whose size the launch gives
  std::vector<uint8_t> initial; // bytes, or empty for zeros
};

struct Function {
  std::string name;
  std::vector<Variable> parameters; // addresses are offsets into the block of parameters
  int64_t parameterBytes = 0;
  int64_t localBytes = 0;       // bytes of each thread
  int64_t sharedBytes = 0;      // static
  int64_t sharedAlignment = 16; // alignment of dynamic shared memory, which follows the static one
  std::array<uint32_t, 3> requiredThreads{}, mostThreads{}; // zeros if not specified
  int registerCount = 0;
  std::vector<Instruction> code;
};

struct Module {
  std::string version, target;     // "8.7", "sm_80"
  std::vector<Variable> variables; // global and constant; shared ones have their offset
  std::map<std::string, std::unique_ptr<Function>> kernels;

  // 90 for a target of sm_90a; 0 if it is none.
  int architecture() const;

  // Places the variables of the module by `allocate(bytes, alignment)`, which returns an address, and puts these into
  // the code. `write(address, bytes)` then gets their values.
  template <class Allocate, class Write> void load(Allocate allocate, Write write) {
    for (Variable &variable : variables)
      if (variable.space == Space::Global || variable.space == Space::Const) {
        variable.address = allocate(variable.bytes, variable.alignment);
        std::vector<uint8_t> bytes = variable.initial;
        bytes.resize(variable.bytes);
        write(variable.address, bytes);
      }
    resolveVariables();
  }

private:
  void resolveVariables();
};

// Reads a module. Throws ParseError.
std::unique_ptr<Module> parse(std::string_view text);

} // namespace ptx
