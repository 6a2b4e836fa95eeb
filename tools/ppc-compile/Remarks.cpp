#include "Remarks.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {
namespace {

int silences = 0;

/// Prints a line each: `name: text` for decisions, `note: text` for options without effect.
struct RemarkPrinter : remark::detail::MLIRRemarkStreamerBase {
  explicit RemarkPrinter(bool explain) : explain(explain) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (silences)
      return;
    for (const remark::detail::Remark::Arg &part : remark.getArgs())
      if (part.key == "Remark" || part.key == "Reason")
        llvm::errs() << (explain ? remark.getRemarkName() : "note") << ": " << part.val << "\n";
  }

  bool explain;
};

} // namespace

bool printRemarks(MLIRContext &context, bool explain) {
  remark::RemarkCategories categories;
  categories.missed = "ppc-(offload|overlap)";
  if (explain)
    categories.passed = categories.missed = categories.analysis = "ppc-(plan|overlap|recompute|offload|arena)";
  return succeeded(remark::enableOptimizationRemarks(context, std::make_unique<RemarkPrinter>(explain),
                                                     std::make_unique<remark::RemarkEmittingPolicyAll>(), categories));
}

SilentRemarks::SilentRemarks() { ++silences; }
SilentRemarks::~SilentRemarks() { --silences; }

} // namespace mlir::ppc
