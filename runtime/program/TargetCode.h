// Code of a target other than the host, as the reader of that target understands manifest["code"].
#pragma once

#include "runtime/include/ppcrt.h"

#include <cstdint>
#include <memory>

namespace ppcrt {

class JsonValue;
struct Routine;

class TargetCode {
public:
  virtual ~TargetCode() = default;
  // Throws InputError at a key of `value`, the routine in the manifest, unless the code has a function of the routine's
  // name that takes as many arguments as the routine has buffers and signals each of its early tokens.
  virtual void checkRoutine(const JsonValue &value, const Routine &routine) const = 0;
  // Throws InputError unless `program` holds the images and constants that the code uses.
  virtual void checkProgram(const ppcrt_program &program) const = 0;
};

// Reads and checks manifest["code"]. `groupCount` is the number of groups of the manifest. Throws InputError that names
// the key.
using TargetCodeReader = std::shared_ptr<const TargetCode> (*)(const JsonValue &value, int64_t groupCount);

} // namespace ppcrt
