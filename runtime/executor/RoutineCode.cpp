// Finding what a program has.
#include "runtime/executor/RoutineCode.h"
#include "runtime/base/Error.h"

namespace ppcrt {
namespace {

ppcrt_function findEntry(const ppcrt_program &program, const std::string &name) {
  for (uint64_t i = 0; i < program.entry_count; ++i)
    if (name == program.entries[i].name)
      return program.entries[i].function;
  return nullptr;
}

} // namespace

HostFunctions::HostFunctions(const Device &device, const ppcrt_program &program) {
  for (const Routine &routine : device.routines)
    functions.push_back(findEntry(program, routine.entry));
}

void checkEntries(const Manifest &manifest, const ppcrt_program &program) {
  if (manifest.code)
    return manifest.code->checkProgram(program);
  for (size_t d = 0; d < manifest.devices.size(); ++d)
    for (size_t i = 0; i < manifest.devices[d].routines.size(); ++i)
      if (const Routine &routine = manifest.devices[d].routines[i]; !findEntry(program, routine.entry))
        throw InputError(format("manifest: devices[%zu].routines[%zu].entry: the program has no function \"%s\"", d, i,
                                routine.entry.c_str()));
}

} // namespace ppcrt
