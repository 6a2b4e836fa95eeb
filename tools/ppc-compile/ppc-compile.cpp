// ppc-compile: a model and a layout in, one executable that trains it out.
#include "CheckRun.h"
#include "Compilation.h"
#include "Options.h"
#include "Remarks.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/Diagnostics.h"
#include "ppc/Analysis/ProgramLedger.h"
#include "ppc/Analysis/UserMessage.h"
#include "ppc/Import/HuggingFace.h"
#include "ppc/InitPpc.h"
#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/OutputFile.h"
#include "ppc/Support/ScratchFolder.h"
#include "ppc/Transforms/Plan/PlanFile.h"
#include "ppc/Transforms/Plan/PlanLedger.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <utility>

using namespace mlir;
using namespace mlir::ppc;

namespace {

// `error: file:line:col: message`, one line each; notes and remarks likewise. Later errors are mostly consequences of
// the first, or repeat it for other ops (ppc-opt shows all).
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
    llvm::errs() << userMessage(one) << "\n";
  };
  print(diagnostic);
  // A note repeats the full op of an error; that is for developers (ppc-opt shows it).
  for (Diagnostic &note : diagnostic.getNotes())
    if (!StringRef(note.str()).starts_with("see current operation"))
      print(note);
}

bool fail(llvm::Error error) { return reportError(llvm::toString(std::move(error))), false; }

bool writeText(OutputFile &output, function_ref<void(raw_ostream &)> print) {
  llvm::Error error = output.write([&](raw_ostream &out) {
    print(out);
    return llvm::Error::success();
  });
  return !error || fail(std::move(error));
}

/// Setting of a compilation besides its model and its plan.
struct Setting {
  CommandFiles files;
  LinkTools tools; // for Emit::Executable
  ScratchFolder scratch{"ppc-compile"};
};

/// Declares inputs, and opens the output: an output that cannot be written is reported at once, not after minutes.
llvm::Expected<OutputFile> openOutput(const CompileOptions &options, const std::string &programName, Setting &setting) {
  CommandFiles &files = setting.files;
  files.reads("MODEL", modelConfigPath(options.model));
  files.reads("--cluster", options.cluster);
  files.reads("--plan", options.planFile);
  files.needs("what the environment's PPC_LOCAL_CLUSTER names",
              llvm::sys::Process::GetEnv("PPC_LOCAL_CLUSTER").value_or(""));
  if (options.emit == Emit::Executable) {
    llvm::Expected<LinkTools> tools = options.target->findLinkTools({"", "", programName});
    if (!tools)
      return tools.takeError();
    files.needs("what links programs", tools->linker);
    files.needs("the runtime library", tools->runtimeLibrary);
    setting.tools = std::move(*tools);
  }
  std::string path = options.output.value_or(options.emit == Emit::Object       ? "train.o"
                                             : options.emit == Emit::Executable ? "train"
                                                                                : "-");
  return files.writes(options.output ? "-o" : "the default of -o", path,
                      options.emit == Emit::Executable ? OutputKind::Executable : OutputKind::Data);
}

/// Makes the program in the scratch folder.
bool buildExecutable(Compilation &compilation, const Target &target, Setting &setting, StringRef name) {
  std::string path = setting.scratch.file(name), object = path + ".o";
  llvm::Expected<OutputFile> output = setting.files.writes("object", object);
  if (!output)
    return fail(output.takeError());
  if (!compilation.lowerTo(Emit::LLVM) || !compilation.writeObject(*output))
    return false;
  llvm::Error error = target.link(object, path, setting.tools);
  return !error || fail(std::move(error));
}

bool copyTo(OutputFile &output, const std::string &path) {
  auto program = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!program)
    return reportError("cannot read " + path + ": " + program.getError().message()), false;
  return writeText(output, [&](raw_ostream &out) { out << (*program)->getBuffer(); });
}

/// Prints the accounting of --emit=ledger.
bool printLedger(Compilation &compilation, const CompileOptions &options, OutputFile &output) {
  llvm::Expected<Ledger> priced = planLedger(compilation.getModule(), options.cluster);
  if (!compilation.lowerTo(options.emit)) {
    llvm::consumeError(priced.takeError());
    return false;
  }
  FailureOr<Ledger> emitted = programLedger(compilation.getModule());
  if (failed(emitted)) {
    llvm::consumeError(priced.takeError());
    return false;
  }
  if (priced && options.memory > 0) // recomputed values are chosen after the plan
    llvm::erase_if(priced->memory, [](const MemoryRow &row) {
      return row.kind == MemoryRow::Kind::Slots || row.kind == MemoryRow::Kind::HostSlots;
    });
  SmallVector<std::pair<StringRef, const Ledger *>> columns;
  if (priced)
    columns.push_back({"priced", &*priced});
  else
    llvm::errs() << "note: no cost estimate: " << llvm::toString(priced.takeError()) << "\n";
  columns.push_back({"emitted", &*emitted});
  return writeText(output, [&](raw_ostream &os) { printLedgers(columns, os); });
}

/// Takes the precision of the plan file, if the command line has none; a plan without one or with one that the target
/// lacks is refused later, by its reader.
void takePlannedPrecision(CompileOptions &options) {
  if (options.planFile.empty() || options.isPrecisionGiven)
    return;
  llvm::Expected<PlanFileSections> sections = planFileSections(options.planFile);
  if (!sections)
    return llvm::consumeError(sections.takeError());
  if (llvm::any_of(options.target->capabilities().precisions,
                   [&](Precision known) { return toString(known) == sections->precision; }))
    options.precision = sections->precision;
}

bool run(MLIRContext &context, const CompileOptions &options, const std::string &programName) {
  Setting setting;
  llvm::Expected<OutputFile> output = openOutput(options, programName, setting);
  if (!output)
    return fail(output.takeError());

  Compilation compilation(context, options);
  if (!compilation.load())
    return false;
  if (options.emit == Emit::Model)
    return writeText(*output, [&](raw_ostream &os) { os << compilation.getModule() << "\n"; });
  if (!compilation.makePlan())
    return false;
  if (options.emit == Emit::Plan && options.memory > 0 &&
      !compilation.lowerTo(Emit::Spmd)) // recomputed values are chosen there
    return false;
  if (options.emit == Emit::Plan)
    return writeText(*output, [&](raw_ostream &os) { os << compilation.plan(); });
  if (options.emit == Emit::Program)
    return compilation.lowerTo(options.emit) && writeText(*output, [&](raw_ostream &os) {
             for (Operation &op : *compilation.getModule().getBody())
               if (isa<ppcrt::GroupOp, ppcrt::ProgramOp>(op))
                 os << op << "\n";
           });
  if (options.emit == Emit::Ledger)
    return printLedger(compilation, options, *output);
  if (options.emit == Emit::Ptx || options.emit == Emit::Kernels) {
    if (!compilation.lowerTo(Emit::LLVM))
      return false;
    auto print = options.emit == Emit::Ptx ? &Target::kernelText : &Target::kernelTable;
    llvm::Expected<std::string> text = (options.target->*print)(compilation.getModule(), options.code.processors);
    return text ? writeText(*output, [&](raw_ostream &os) { os << *text; }) : fail(text.takeError());
  }
  if (options.emit == Emit::Traffic) {
    if (!compilation.lowerTo(Emit::Device))
      return false;
    llvm::Expected<std::string> table = options.target->trafficTable(compilation.getModule());
    return table ? writeText(*output, [&](raw_ostream &os) { os << *table; }) : fail(table.takeError());
  }
  if (options.emit < Emit::Object) {
    if (!compilation.lowerTo(options.emit))
      return false;
    ModuleOp module = compilation.getModule();
    if (options.emit == Emit::LLVM) // its tools do not know the facts of the manifest
      for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
        if (attribute.getName().getValue().starts_with("ppc."))
          module->removeAttr(attribute.getName());
    return writeText(*output, [&](raw_ostream &os) { os << module << "\n"; });
  }
  if (options.emit == Emit::Object)
    return compilation.lowerTo(Emit::LLVM) && compilation.writeObject(*output);

  Heartbeat::doing("code");
  const ScratchFolder &scratch = setting.scratch;
  if (scratch.failure())
    return reportError("cannot make a temporary folder"), false;
  if (!buildExecutable(compilation, *options.target, setting, "train") || !copyTo(*output, scratch.file("train")))
    return false;
  if (!options.check)
    return true;
  Heartbeat::doing("--check");
  Compilation single(context, options);
  return single.load() && single.makeSingleDevicePlan() &&
         buildExecutable(single, *options.target, setting, "single-device") &&
         checkEquivalence(scratch.file("train"), scratch.file("single-device"), scratch.name(), options.checkSteps,
                          options.precision);
}

} // namespace

int main(int argc, char **argv) {
  reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  ParsedCommandLine commandLine = parseCommandLine(argc, argv);
  if (!commandLine.options)
    return commandLine.exitStatus;
  DialectRegistry registry;
  registerPpcDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  Heartbeat heartbeat("reading " + commandLine.options->model);
  if (!printRemarks(context, commandLine.options->explain))
    return 1;
  takePlannedPrecision(*commandLine.options);
  return run(context, *commandLine.options, argv[0]) ? 0 : 1;
}
