// The last steps of the CPU backend: an object file that defines `ppc_program` (runtime/include/ppcrt.h), and the
// executable.
#ifndef PPC_CODEGEN_HOSTOBJECT_H
#define PPC_CODEGEN_HOSTOBJECT_H

#include "ppc/Codegen/HostModule.h"

namespace mlir::ppc {

/// The version of the C ABI that compiled code follows (PPCRT_ABI_VERSION in ppcrt.h), in objects and manifests.
inline constexpr uint32_t kAbiVersion = 4;

/// Compiles `module` (LLVM dialect, as `ppc-rt-to-llvm` leaves it) to an object file. It defines `ppc_program` with
/// `manifest` and one entry for each public function.
llvm::Error emitHostObject(ModuleOp module, StringRef manifest, const HostTargetOptions &options, raw_ostream &object);

/// The kernels of a program for one chip (ppcrt_image).
struct DeviceImage {
  std::string chip;
  bool isMachineCode = false; // else PTX
  std::string content;
};
/// Constant that kernels read and no code writes (ppcrt_constant). Borrowed.
struct DeviceConstant {
  StringRef name;
  ArrayRef<char> content;
};

/// Writes an object file of a program without code for the CPU backend. It defines `ppc_program`.
llvm::Error emitDeviceObject(StringRef manifest, ArrayRef<DeviceImage> images, ArrayRef<DeviceConstant> constants,
                             raw_ostream &object);

/// Inputs of linking an executable.
struct LinkOptions {
  /// libppcrt.a. Empty: the environment variable PPC_RUNTIME_LIBRARY, else ../lib/libppcrt.a next to the running
  /// program.
  std::string runtimeLibrary;
  /// The C compiler that links. Empty: the environment variable CC, else the first of cc, clang, gcc on the PATH.
  std::string linker;
  /// The running program's argv[0], by which the runtime library is found.
  std::string programName;
};

/// The linker, and libppcrt.a.
struct LinkTools {
  std::string linker, runtimeLibrary;
};

/// Finds both. Errors name the missing tool and the option or variable that sets it.
llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options);

/// Links `object` with the runtime into `executable`, by LLVM's linker if `ld.lld` is on the PATH and the compiler
/// accepts it.
llvm::Error linkExecutable(StringRef object, StringRef executable, const LinkTools &tools);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_HOSTOBJECT_H
