// Faults of a kernel, and errors in PTX text: location and description.
#pragma once

#include <stdexcept>
#include <string>

namespace ptx {

// A text that is not PTX, or uses what is not executed here. The message names the line.
struct ParseError : std::runtime_error {
  int line;
  ParseError(int line, const std::string &what)
      : std::runtime_error("line " + std::to_string(line) + ": " + what), line(line) {}
};

enum class FaultKind {
  OutOfBounds,   // an address outside of every allocation, or of the block's shared memory
  Misaligned,    // an address that is not a multiple of the bytes accessed at once
  Uninitialized, // memory read before anything was written there
  Race,       // shared memory used by two warps without a barrier between, or by one before its asynchronous copy has
              // completed; global memory used by operations of two streams that nothing orders
  Barrier,    // a barrier, or an instruction of a whole warp, that not all come to
  Divergence, // lanes that must execute an instruction together do not
  Trap,       // `trap`, or an undefined operation
  Hang,       // more instructions than the limit
  Launch,     // sizes or arguments that the kernel does not have
};
const char *nameOf(FaultKind kind);

// Ends the launch.
struct Fault : std::runtime_error {
  FaultKind kind;
  Fault(FaultKind kind, const std::string &what)
      : std::runtime_error(std::string(nameOf(kind)) + ": " + what), kind(kind) {}
};

} // namespace ptx
