// ppc-compile: a model and a layout in, one executable that trains it out.
#include "CheckRun.h"
#include "Compilation.h"
#include "Options.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ProgramLedger.h"
#include "ppc/InitPpc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

#include <utility>

using namespace mlir;
using namespace mlir::ppc;

namespace {

// `error: file:line:col: message`, one line each; notes and remarks likewise. Errors behind the first are mostly its
// consequences, or say the same of other ops (ppc-opt shows all).
void printDiagnostic(Diagnostic &diagnostic) {
  const char *kinds[] = {"note", "warning", "error", "remark"};
  static bool failed = false;
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && std::exchange(failed, true))
    return;
  auto print = [&](Diagnostic &one) {
    llvm::errs() << kinds[int(one.getSeverity())] << ": ";
    if (auto location = one.getLocation()->findInstanceOf<FileLineColLoc>())
      llvm::errs() << location.getFilename().getValue() << ":" << location.getLine() << ":" << location.getColumn()
                   << ": ";
    else if (auto name = dyn_cast<NameLoc>(one.getLocation()))
      llvm::errs() << name.getName().getValue() << ": ";
    llvm::errs() << one.str() << "\n";
  };
  print(diagnostic);
  // The op behind an error is shown by a note that repeats all of it; that is for developers (ppc-opt shows it).
  for (Diagnostic &note : diagnostic.getNotes())
    if (!StringRef(note.str()).starts_with("see current operation"))
      print(note);
}

/// --explain: the decisions of the planner, a line each.
struct DecisionPrinter : remark::detail::MLIRRemarkStreamerBase {
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    for (const remark::detail::Remark::Arg &part : remark.getArgs())
      if (part.key == "Remark" || part.key == "Reason")
        llvm::errs() << remark.getRemarkName() << ": " << part.val << "\n";
  }
};

bool explainDecisions(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = "ppc-plan";
  return succeeded(remark::enableOptimizationRemarks(context, std::make_unique<DecisionPrinter>(),
                                                     std::make_unique<remark::RemarkEmittingPolicyAll>(), categories));
}

/// A folder of its own for intermediate files, removed at the end.
class ScratchFolder {
public:
  ScratchFolder() { failed = bool(llvm::sys::fs::createUniqueDirectory("ppc-compile", path)); }
  ~ScratchFolder() {
    if (!failed)
      (void)llvm::sys::fs::remove_directories(path);
  }
  std::string file(StringRef name) const { return (path + "/" + name).str(); }
  StringRef name() const { return path; }
  bool ok() const { return !failed; }

private:
  llvm::SmallString<128> path;
  bool failed;
};

bool writeText(StringRef path, function_ref<void(raw_ostream &)> print) {
  std::error_code problem;
  llvm::ToolOutputFile file(path.empty() ? "-" : path, problem, llvm::sys::fs::OF_None);
  if (problem)
    return reportError("cannot write " + path + ": " + problem.message()), false;
  print(file.os());
  file.os().flush();
  if (file.os().has_error())
    return reportError("cannot write " + path + ": " + file.os().error().message()), false;
  file.keep();
  return true;
}

/// Finds out now, not after minutes, that the output cannot be written.
bool checkWritable(StringRef path) {
  int descriptor;
  bool existed = llvm::sys::fs::exists(path);
  if (std::error_code problem =
          llvm::sys::fs::openFileForWrite(path, descriptor, llvm::sys::fs::CD_OpenAlways, llvm::sys::fs::OF_Append))
    return reportError("cannot write " + path + ": " + problem.message()), false;
  llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  if (!existed)
    (void)llvm::sys::fs::remove(path);
  return true;
}

bool buildExecutable(Compilation &compilation, const ScratchFolder &scratch, StringRef name, StringRef path) {
  std::string object = scratch.file((name + ".o").str());
  return compilation.lowerTo(Emit::LLVM) && compilation.writeObject(object) && compilation.link(object, path);
}

/// --emit=ledger.
bool printLedger(const Compilation &compilation, StringRef output) {
  FailureOr<Ledger> emitted = programLedger(compilation.getModule());
  return succeeded(emitted) && writeText(output, [&](raw_ostream &os) { printLedgers({{"emitted", &*emitted}}, os); });
}

bool run(MLIRContext &context, const CompileOptions &options, const std::string &programName) {
  bool isText = options.emit < Emit::Object;
  std::string output = options.output;
  if (!isText && output.empty())
    output = options.emit == Emit::Object ? "train.o" : "train";
  if (!output.empty() && output != "-" && !checkWritable(output))
    return false;

  Compilation compilation(context, options, programName);
  if (!compilation.load())
    return false;
  if (options.emit == Emit::Model)
    return writeText(output, [&](raw_ostream &os) { os << compilation.getModule() << "\n"; });
  if (!compilation.makePlan())
    return false;
  if (options.emit == Emit::Plan && options.memory > 0 &&
      !compilation.lowerTo(Emit::Spmd)) // what backward computes again is chosen there
    return false;
  if (options.emit == Emit::Plan)
    return writeText(output, [&](raw_ostream &os) { os << compilation.plan(); });
  if (options.emit == Emit::Program)
    return compilation.lowerTo(options.emit) && writeText(output, [&](raw_ostream &os) {
             for (Operation &op : *compilation.getModule().getBody())
               if (isa<ppcrt::GroupOp, ppcrt::ProgramOp>(op))
                 os << op << "\n";
           });
  if (options.emit == Emit::Ledger)
    return compilation.lowerTo(options.emit) && printLedger(compilation, output);
  if (isText)
    return compilation.lowerTo(options.emit) &&
           writeText(output, [&](raw_ostream &os) { os << compilation.getModule() << "\n"; });
  if (options.emit == Emit::Object)
    return compilation.lowerTo(Emit::LLVM) && compilation.writeObject(output);

  ScratchFolder scratch;
  if (!scratch.ok())
    return reportError("cannot make a temporary folder"), false;
  if (!buildExecutable(compilation, scratch, "train", output))
    return false;
  if (!options.check)
    return true;
  Compilation single(context, options, programName);
  std::string reference = scratch.file("single");
  llvm::SmallString<128> absolute(output);
  llvm::sys::fs::make_absolute(absolute);
  return single.load() && single.makeSingleDevicePlan(compilation) &&
         buildExecutable(single, scratch, "single-device", reference) &&
         checkEquivalence(absolute, reference, scratch.name(), options.checkSteps, options.precision);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ParsedCommandLine commandLine = parseCommandLine(argc, argv);
  if (!commandLine.options)
    return commandLine.exitStatus;
  DialectRegistry registry;
  registerPpcDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  if (commandLine.options->explain && !explainDecisions(context))
    return 1;
  return run(context, *commandLine.options, argv[0]) ? 0 : 1;
}
