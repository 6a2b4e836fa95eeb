// A family of devices that programs run on: the features of its programs, the lowering of device functions, the format
// and the link step of a program. Neutral passes run before and after it; no other code asks for the target.
#ifndef PPC_TARGET_TARGET_H
#define PPC_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Codegen/HostObject.h"
#include "ppc/Target/TargetCapabilities.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// Texts of a compilation that a program carries in addition to its code.
struct ProgramTexts {
  StringRef plan;                        // as users read it
  StringRef config;                      // the model's config.json; empty: it has none
  const llvm::json::Object &mathematics; // numerics that checkpoints compare (Analysis/Mathematics.h)
};

/// How the code of a program is generated.
struct CodeOptions {
  /// CPU backend: a processor of LLVM's list (empty: that of the compiling machine). GPUs: chips, separated by commas
  /// (empty: all that PPC compiles for).
  std::string processors;
  /// Optimization level of LLVM for CPU code, as clang's -O: 0 (the fastest to compile) to 3. Sums round differently
  /// between levels.
  unsigned optimize = 3;
};

/// One object of each, which lives as long as the program.
class Target {
public:
  virtual ~Target() = default;
  virtual const TargetCapabilities &capabilities() const = 0;

  /// The dialects of its passes, and what upstream passes must know of them.
  virtual void registerDialects(DialectRegistry &registry) const = 0;
  /// The passes by name, for ppc-opt.
  virtual void registerPasses() const = 0;

  /// partition -> device: from functions of ppc ops on tensors, outlined and bound to buffers, to functions on buffers.
  /// The temporaries of a function have offsets in one scratch buffer (checked by ppc-verify-device).
  /// `overlap`: collectives run concurrently with ops that do not depend on them.
  virtual void addBodyPasses(OpPassManager &pm, bool overlap) const = 0;
  /// device -> code: the laid out program becomes what `writeObject` takes. It is called after `describeProgram`.
  virtual void addCodePasses(OpPassManager &pm) const = 0;

  /// The description of the program for the runtime (docs/internals/Runtime.md). Fails, with errors at the op, at
  /// actions and buffers that programs of the target do not have.
  virtual FailureOr<std::string> describeProgram(ModuleOp module, const ProgramTexts &texts) const = 0;
  /// Whether these are processors that `writeObject` takes; the error names the one that is not.
  virtual llvm::Error checkProcessors(StringRef processors) const = 0;
  /// The processors to generate code for, as `writeObject` takes them, where programs are to run on devices of these
  /// architectures (Device::architecture); empty where that says nothing.
  virtual std::string processorsFor(ArrayRef<std::string> architectures) const;
  /// The object file of a module that `addCodePasses` left.
  virtual llvm::Error writeObject(ModuleOp module, StringRef description, const CodeOptions &options,
                                  raw_ostream &object) const = 0;
  /// The kernels of such a module as their assembler takes them, for each of the processors. Error: the target has
  /// none.
  virtual llvm::Expected<std::string> kernelText(ModuleOp module, StringRef processors) const;
  /// The kernels of such a module and their resources on each of the processors, as CSV. Error: the target has none.
  virtual llvm::Expected<std::string> kernelTable(ModuleOp module, StringRef processors) const;
  /// Bytes that the kernels of each function move to and from memory, and a lower bound of them, as CSV; for a module
  /// after `addBodyPasses`. Error: the target has no kernels.
  virtual llvm::Expected<std::string> trafficTable(ModuleOp module) const;

  /// The tools that link its programs. Errors say which tool is missing and how to name it.
  virtual llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) const = 0;
  virtual llvm::Error link(StringRef object, StringRef executable, const LinkTools &tools) const = 0;
};

/// The targets of this build, in the order of targetCapabilities().
ArrayRef<const Target *> targets();
/// Error: as findTargetCapabilities.
llvm::Expected<const Target *> findTarget(StringRef name);

/// Programs of the CPU backend (hostCapabilities).
const Target &hostTarget();
/// Programs for NVIDIA GPUs (cudaCapabilities).
const Target &cudaTarget();

} // namespace mlir::ppc

#endif // PPC_TARGET_TARGET_H
