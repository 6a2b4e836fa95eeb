// Search paths for programs of the CUDA Toolkit.
#include "ppc/Support/CudaTools.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace mlir::ppc;

TEST(CudaTools, ComeFromTheNamedToolkit) {
  llvm::SmallString<128> toolkit;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ppc-toolkit", toolkit));
  llvm::SmallString<128> folder(toolkit), tool;
  llvm::sys::path::append(folder, "bin");
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
  tool = folder;
  llvm::sys::path::append(tool, "ppc-no-such-tool");
  EXPECT_FALSE(findCudaTool("ppc-no-such-tool"));
  setenv("CUDA_HOME", toolkit.c_str(), 1);
  std::ofstream(tool.c_str()) << "#!/bin/sh\n";
  EXPECT_FALSE(findCudaTool("ppc-no-such-tool")) << "it does not exist";
  ASSERT_FALSE(llvm::sys::fs::setPermissions(tool, llvm::sys::fs::all_all));
  std::optional<std::string> found = findCudaTool("ppc-no-such-tool");
  unsetenv("CUDA_HOME");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, tool.str());
  llvm::sys::fs::remove_directories(toolkit);
}
