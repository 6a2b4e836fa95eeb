// Writing of a command's outputs. Tools open files for writing through this header only (tools/dev/check-files.py): no
// output destroys an input of the same command, and an old file stays until its successor is complete.
#ifndef PPC_SUPPORT_OUTPUTFILE_H
#define PPC_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem/UniqueID.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir::ppc {

/// Opens the null device for each closed descriptor of 0 to 2, so that no file gets its number and receives printed
/// text. Reading input and writing output fail as on the closed one; errors and notes go nowhere. Call it before
/// anything is opened.
void reserveStandardStreams();

enum class OutputKind { Data, Executable };

/// One output, which `CommandFiles` has found possible. A regular file is written next to its path, under a name that
/// no file has, and then renamed: if that fails, is interrupted or exceeds the space on disk, the old file stays. The
/// new one has the mode of the old one, and its owner as far as that is allowed; other hard links keep the old content;
/// a symbolic link stays one, and the file it names is replaced. Standard output ("-", /dev/stdout, /dev/fd/N), pipes
/// and character devices are written in place.
class OutputFile {
public:
  OutputFile(OutputFile &&other);
  OutputFile(const OutputFile &) = delete;
  ~OutputFile();

  /// Writes the output of `print`. An error of `print` is passed on and leaves the old file. Other errors name the
  /// option, the path and the system's message.
  llvm::Error write(llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print);

  /// Whether it is written in place.
  bool isStream() const { return descriptor >= 0; }

private:
  friend class CommandFiles;
  OutputFile(llvm::StringRef option, llvm::StringRef path, OutputKind kind);
  void follow();
  std::optional<llvm::sys::fs::UniqueID> presentFile() const;
  llvm::Error checkKind() const;
  llvm::Error open();
  llvm::Error openStream();
  llvm::Error failure(const llvm::Twine &why) const;

  std::string option, path; // as given
  OutputKind kind;
  std::string target;  // path after symbolic links; empty if the path names a descriptor of this process
  int descriptor = -1; // descriptor of an output that is written in place
};

/// The files of one command, by the options that name them. All inputs are declared before the first output.
class CommandFiles {
public:
  /// The running program is an input.
  CommandFiles();

  /// Records that `path` is read because of `option`; MODEL is an option, too. Names that are not files are ignored:
  /// presets.
  void reads(llvm::StringRef option, llvm::StringRef path);
  /// Records that `path` is read though no option names it. `what`: "the runtime library".
  void needs(llvm::StringRef what, llvm::StringRef path);

  /// To be called before long work begins. Refuses, by name of the option: an empty path, a folder, a special file, a
  /// path that cannot be written, a file that is (by device and inode) an input or another output.
  llvm::Expected<OutputFile> writes(llvm::StringRef option, llvm::StringRef path, OutputKind kind = OutputKind::Data);
  /// Check for a file that another program will write, which may be in a folder that does not exist yet.
  llvm::Error checkOutput(llvm::StringRef option, llvm::StringRef path);

private:
  struct Input {
    std::string what; // use of the file: "what --plan reads"
    llvm::sys::fs::UniqueID file;
  };
  struct Output {
    std::string option, target;
    std::optional<llvm::sys::fs::UniqueID> file; // identity of an existing file
  };
  llvm::Error add(const OutputFile &output);

  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

} // namespace mlir::ppc

#endif // PPC_SUPPORT_OUTPUTFILE_H
