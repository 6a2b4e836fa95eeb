// Linking: the machine's own C compiler, the object, and libppcrt.a.
#include "ppc/Codegen/HostObject.h"
#include "ppc/Codegen/RunTool.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

namespace mlir::ppc {

static llvm::Expected<std::string> findLinker(const LinkOptions &options) {
  std::string asked = options.linker;
  if (asked.empty())
    asked = llvm::sys::Process::GetEnv("CC").value_or("");
  SmallVector<StringRef> names{"cc", "clang", "clang-22", "gcc"};
  if (!asked.empty())
    names = {asked};
  for (StringRef name : names)
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  if (!asked.empty())
    return llvm::createStringError("linker '" + asked +
                                   "' not found; name a C compiler with --linker or the environment variable CC");
  return llvm::createStringError(
      "no C compiler to link with (tried cc, clang, clang-22, gcc); install one or name it with --linker or CC");
}

static llvm::Expected<std::string> findRuntime(const LinkOptions &options) {
  std::string path = options.runtimeLibrary;
  if (path.empty())
    path = llvm::sys::Process::GetEnv("PPC_RUNTIME_LIBRARY").value_or("");
  if (path.empty()) {
    static int anchor;
    SmallString<128> beside(llvm::sys::fs::getMainExecutable(options.programName.c_str(), &anchor));
    llvm::sys::path::remove_filename(beside);
    llvm::sys::path::append(beside, "..", "lib", "libppcrt.a");
    llvm::sys::path::remove_dots(beside, /*remove_dot_dot=*/true);
    path = beside.str().str();
  }
  if (!llvm::sys::fs::exists(path))
    return llvm::createStringError("runtime library '" + path +
                                   "' not found; build the target ppcrt, or name the library with --runtime-library or "
                                   "PPC_RUNTIME_LIBRARY");
  return path;
}

llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) {
  auto linker = findLinker(options);
  if (!linker)
    return linker.takeError();
  auto runtime = findRuntime(options);
  if (!runtime)
    return runtime.takeError();
  return LinkTools{*linker, *runtime};
}

llvm::Error linkExecutable(StringRef object, StringRef executable, const LinkTools &tools) {
  SmallVector<StringRef> command{tools.linker, object,      tools.runtimeLibrary, "-o", executable,
                                 "-ldnnl",     "-lpthread", "-lstdc++",           "-lm"};
  // LLVM's linker takes half the time of GNU's. A compiler that does not know it, or an older one that does not take
  // these libraries, links once more with its own.
  if (llvm::sys::findProgramByName("ld.lld")) {
    SmallVector<StringRef> fast = command;
    fast.push_back("-fuse-ld=lld");
    if (auto printed = runTool(fast))
      return llvm::Error::success();
    else
      llvm::consumeError(printed.takeError());
  }
  llvm::Expected<std::string> printed = runTool(command);
  if (printed)
    return llvm::Error::success();
  return llvm::createStringError("linking '" + executable + "' " + llvm::toString(printed.takeError()));
}

} // namespace mlir::ppc
