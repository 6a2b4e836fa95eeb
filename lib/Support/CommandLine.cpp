#include "ppc/Support/CommandLine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace mlir::ppc;

bool mlir::ppc::readCommandLine(int argc, const char *const *argv, llvm::StringRef overview) {
  std::vector<const char *> arguments(argv, argv + argc);
  // LLVM's messages on values that cannot be parsed begin with the program's name and go straight to standard error.
  bool asksForHelp = llvm::any_of(arguments, [](llvm::StringRef text) {
    text = text.ltrim('-');
    return text.starts_with("help") || text == "h" || text == "version";
  });
  if (!asksForHelp)
    arguments[0] = "error";
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef text = argv[i];
    if (!text.empty() && !(text.starts_with("-") && text.ends_with("=") && text.count('=') == 1))
      continue;
    // An empty string is not a file, a name or a number.
    llvm::errs() << "error: " << (text.empty() && i > 1 ? argv[i - 1] : text.rtrim('='))
                 << ": expected a value, found nothing\n";
    return false;
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::cl::ParseCommandLineOptions(argc, arguments.data(), overview, &stream))
    return true;
  llvm::StringRef text = problem;
  if (text.empty())
    return false; // said already
  llvm::StringRef guess =
      text.substr(std::min(text.size(), text.find("Did you mean"))).take_until([](char c) { return c == '\n'; });
  text = text.substr(text.find(": ") == text.npos ? 0 : text.find(": ") + 2).trim().split('\n').first;
  text = text.take_front(text.find("  Try: ")); // names the program
  llvm::errs() << "error: " << text.rtrim();
  if (!guess.empty())
    llvm::errs() << ' ' << guess.trim();
  if (text.starts_with("Too many positional"))
    llvm::errs() << " A value that may be left out is written with '=', such as --sp=off.";
  llvm::errs() << '\n';
  return false;
}
