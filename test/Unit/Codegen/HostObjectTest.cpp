// The end of the host path: what its errors say, and that an object has what the runtime expects of it.
#include "ppc/Codegen/HostObject.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;

namespace {

struct HostObject : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("ppc-object", "o", path));
    context.loadDialect<LLVM::LLVMDialect>();
    module = parseSourceString<ModuleOp>("llvm.func @stage0.forward(%b: !llvm.ptr) { llvm.return }", &context);
    ASSERT_TRUE(module);
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  std::string emit(StringRef where, HostTargetOptions options = {}) {
    std::error_code problem;
    llvm::raw_fd_ostream out(where, problem);
    return problem ? problem.message() : llvm::toString(emitHostObject(*module, "{\"format\": 1}", options, out));
  }
  std::string link(LinkOptions options) {
    llvm::Expected<LinkTools> tools = findLinkTools(options);
    return llvm::toString(tools ? linkExecutable(path, (path + ".out").str(), *tools) : tools.takeError());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallString<128> path;
};

TEST_F(HostObject, DefinesTheProgramAndNothingElse) {
  EXPECT_EQ(emit(path), "");
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  std::vector<std::string> defined;
  bool manifest = false;
  for (const auto &symbol : object->getBinary()->symbols()) {
    uint32_t flags = cantFail(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Global) && !(flags & llvm::object::SymbolRef::SF_Undefined))
      defined.push_back(cantFail(symbol.getName()).str());
  }
  for (const auto &section : object->getBinary()->sections())
    if (cantFail(section.getName()) == ".ppc.manifest")
      manifest = cantFail(section.getContents()).starts_with("{\"format\": 1}");
  EXPECT_EQ(defined, std::vector<std::string>{"ppc_program"});
  EXPECT_TRUE(manifest);
}

TEST_F(HostObject, UnknownProcessor) {
  EXPECT_NE(emit(path, {"x87", 3}).find("unknown processor 'x87'; use native"), std::string::npos);
  EXPECT_EQ(emit(path, {"x86-64-v3", 1}), "");
}

TEST_F(HostObject, NothingToLinkWith) {
  EXPECT_NE(link({"", "no-such-compiler", ""}).find("linker 'no-such-compiler' not found; name a C compiler"),
            std::string::npos);
}

TEST_F(HostObject, NoRuntime) {
  EXPECT_NE(link({"/nowhere/libppcrt.a", "true", ""}).find("runtime library '/nowhere/libppcrt.a' not found"),
            std::string::npos);
}

TEST_F(HostObject, FailedLink) {
  EXPECT_EQ(link({path.str().str(), "true", ""}), ""); // `true` links anything
  std::string message = link({path.str().str(), "false", ""});
  EXPECT_NE(message.find("linking '"), std::string::npos);
  EXPECT_NE(message.find("-ldnnl"), std::string::npos) << message;
}

TEST_F(HostObject, CompilerWithoutLlvmsLinker) {
  SmallString<128> compiler;
  int file;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("ppc-compiler", "sh", file, compiler));
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      << "#!/bin/sh\nfor word; do case $word in -fuse-ld=*) exit 1;; esac; done\n";
  ASSERT_FALSE(llvm::sys::fs::setPermissions(compiler, llvm::sys::fs::all_read | llvm::sys::fs::all_exe));
  EXPECT_EQ(link({path.str().str(), compiler.str().str(), ""}), "");
  llvm::sys::fs::remove(compiler);
}

} // namespace
