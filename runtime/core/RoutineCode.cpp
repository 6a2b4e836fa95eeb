// Finding what a program has.
#include "runtime/core/RoutineCode.h"
#include "runtime/core/Error.h"

namespace ppcrt {
namespace {

ppcrt_function findEntry(const ppcrt_program &program, const std::string &name) {
  for (uint64_t i = 0; i < program.entry_count; ++i)
    if (name == program.entries[i].name)
      return program.entries[i].function;
  return nullptr;
}

void checkImages(const DeviceCode &code, const ppcrt_program &program) {
  if (!code.kernels.empty() && !program.image_count)
    throw InputError("manifest: code.kernels: the program has no image that holds them");
  if (program.constant_count != code.constants.size())
    throw InputError(format("manifest: code.constants: %zu of them, but the program has %llu", code.constants.size(),
                            (unsigned long long)program.constant_count));
  for (size_t i = 0; i < code.constants.size(); ++i) {
    const ppcrt_constant &held = program.constants[i];
    if (code.constants[i].name != held.name || uint64_t(code.constants[i].bytes) != held.size)
      throw InputError(format("manifest: code.constants[%zu]: \"%s\" of %lld bytes, but the program has \"%s\" of %llu",
                              i, code.constants[i].name.c_str(), (long long)code.constants[i].bytes, held.name,
                              (unsigned long long)held.size));
  }
}

} // namespace

HostFunctions::HostFunctions(const Device &device, const ppcrt_program &program) {
  for (const Routine &routine : device.routines)
    functions.push_back(findEntry(program, routine.entry));
}

void checkEntries(const Manifest &manifest, const ppcrt_program &program) {
  if (manifest.target == Target::Cuda)
    return checkImages(manifest.code, program);
  for (size_t d = 0; d < manifest.devices.size(); ++d)
    for (size_t i = 0; i < manifest.devices[d].routines.size(); ++i)
      if (const Routine &routine = manifest.devices[d].routines[i]; !findEntry(program, routine.entry))
        throw InputError(format("manifest: devices[%zu].routines[%zu].entry: the program has no function \"%s\"", d, i,
                                routine.entry.c_str()));
}

} // namespace ppcrt
