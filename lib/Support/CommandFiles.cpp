// Checks that inputs and outputs of a command are different files.
#include "ppc/Support/OutputFile.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir::ppc;
namespace fs = llvm::sys::fs;

CommandFiles::CommandFiles() {
  static char anchor;
  needs("this program itself", fs::getMainExecutable(nullptr, &anchor));
}

void CommandFiles::reads(llvm::StringRef option, llvm::StringRef path) {
  needs("what " + option.str() + " reads", path);
}

void CommandFiles::needs(llvm::StringRef what, llvm::StringRef path) {
  fs::file_status status;
  if (!fs::status(path, status) && fs::is_regular_file(status))
    inputs.push_back({what.str(), status.getUniqueID()});
}

llvm::Error CommandFiles::add(const OutputFile &output) {
  std::optional<fs::UniqueID> file = output.presentFile();
  std::string name = output.path == "-" ? "standard output" : output.option + " " + output.path;
  for (const Input &input : inputs)
    if (file == input.file)
      return llvm::createStringError(name + ": this is " + input.what +
                                     ", which would be destroyed: give another name");
  if (!file && (output.isStream() || fs::exists(output.target)))
    return llvm::Error::success(); // several outputs may go to one pipe or to nowhere
  for (const Output &other : outputs)
    if (file == other.file && (file || output.target == other.target))
      return llvm::createStringError(other.option + " and " + output.option + " would both write " + output.path +
                                     ": give them different names");
  outputs.push_back({output.option, output.target, file});
  return llvm::Error::success();
}

llvm::Error CommandFiles::checkOutput(llvm::StringRef option, llvm::StringRef path) {
  OutputFile output(option, path, OutputKind::Data);
  if (llvm::Error error = output.checkKind())
    return error;
  return add(output);
}

llvm::Expected<OutputFile> CommandFiles::writes(llvm::StringRef option, llvm::StringRef path, OutputKind kind) {
  OutputFile output(option, path, kind);
  if (llvm::Error error = output.checkKind())
    return error;
  if (llvm::Error error = add(output))
    return error;
  if (llvm::Error error = output.open())
    return error;
  return output;
}
