// A cluster file: a cluster that can be written and read again, or an error with its position.
#include "Subject.h"
#include "ppc/Cluster/Cluster.h"

#include <cstdint>
#include <cstdlib>

using namespace mlir::ppc;

PPC_FUZZ_SUBJECT(Cluster) {
  llvm::Expected<Cluster> cluster = parseCluster("file", llvm::StringRef(reinterpret_cast<const char *>(data), size));
  if (!cluster) {
    if (llvm::toString(cluster.takeError()).rfind("file:", 0) != 0)
      std::abort();
    return 0;
  }
  std::string written = writeCluster(*cluster);
  llvm::Expected<Cluster> again = parseCluster("again", written);
  if (!again) {
    llvm::errs() << llvm::toString(again.takeError()) << "\n" << written;
    std::abort();
  }
  return 0;
}
