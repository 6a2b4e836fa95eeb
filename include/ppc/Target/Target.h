// A family of devices that programs run on: what its programs can do, how bodies are lowered, how a program is written
// and linked. Neutral passes run before and behind; no other place asks which target it is.
#ifndef PPC_TARGET_TARGET_H
#define PPC_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Codegen/HostObject.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// What of a compilation a program carries beside its code.
struct ProgramTexts {
  StringRef plan;                        // as people read it
  StringRef config;                      // the model's config.json; empty: it has none
  const llvm::json::Object &mathematics; // what checkpoints compare (Analysis/Mathematics.h)
};

/// How the code of a program is generated.
struct CodeOptions {
  /// Of hosts a processor of LLVM's list (empty: that of the machine that compiles), of GPUs chips with commas between
  /// (empty: all that PPC compiles for).
  std::string processors;
  /// What LLVM spends on code of hosts, as clang's -O: 0 (the fastest to compile) to 3. Sums round
  /// differently.
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

  /// partition -> device: from functions of ppc ops on tensors, outlined and bound to buffers, to functions on buffers
  /// whose temporaries lie at offsets in one scratch each (checked by ppc-verify-device).
  /// `overlap`: their collectives run beside what does not need them.
  virtual void addBodyPasses(OpPassManager &pm, bool overlap) const = 0;
  /// device -> code: the laid out program becomes what `writeObject` takes. It is called after `describeProgram`.
  virtual void addCodePasses(OpPassManager &pm) const = 0;

  /// What the runtime must know of the program (docs/internals/Runtime.md). Fails, with errors at the op, at actions
  /// and buffers that programs of the target do not have.
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
  /// The kernels of such a module and what they take on each of the processors, as CSV. Error: the target has none.
  virtual llvm::Expected<std::string> kernelTable(ModuleOp module, StringRef processors) const;
  /// What the kernels of each function of a module that `addBodyPasses` left move to and from memory, beside the least
  /// that they could, in bytes, as CSV. Error: the target has none.
  virtual llvm::Expected<std::string> trafficTable(ModuleOp module) const;

  /// What links its programs. Errors say what is missing and how to name it.
  virtual llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) const = 0;
  virtual llvm::Error link(StringRef object, StringRef executable, const LinkTools &tools) const = 0;
};

/// The targets of this build, in the order of targetCapabilities().
ArrayRef<const Target *> targets();
/// Error: as findTargetCapabilities.
llvm::Expected<const Target *> findTarget(StringRef name);

/// Programs for hosts (hostCapabilities).
const Target &hostTarget();
/// Programs for NVIDIA GPUs (cudaCapabilities).
const Target &cudaTarget();

} // namespace mlir::ppc

#endif // PPC_TARGET_TARGET_H
