// ppc-opt: mlir-opt for PPC. Runs any pass or phase on a module in textual form.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "ppc/InitPpc.h"
#ifdef PPC_BUILD_TESTS
namespace mlir::ppc::test {
void registerTestPasses(); // test/lib
} // namespace mlir::ppc::test
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::ppc::registerPpcDialects(registry);
  mlir::ppc::registerPpcPasses();
#ifdef PPC_BUILD_TESTS
  mlir::ppc::test::registerTestPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "PPC optimizer driver\n", registry));
}
