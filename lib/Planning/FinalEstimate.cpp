#include "lib/Planning/FinalEstimate.h"

#include "ppc/Planning/PlanVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir::ppc;

namespace {
/// What the final estimate says of one plan; both empty: that all is as the search has it.
struct Findings {
  std::string impossible, difference;
};
} // namespace

static Findings examine(const PlanRequest &request, const Plan &plan) {
  if (llvm::Error error = verifyPlanLayout(request, plan.layout))
    return {llvm::toString(std::move(error)), ""};
  llvm::Expected<std::string> difference = claimThatDiffers(request, plan);
  if (!difference)
    return {llvm::toString(difference.takeError()), ""};
  return {"", std::move(*difference)};
}

/// Those of the listed plans; the others keep their order, and what is said of the first ones.
static void takeOut(PlanSearchResult &result, llvm::function_ref<bool(const Plan &)> isImpossible) {
  std::vector<Plan> left;
  size_t ties = 0, simplest = 0;
  for (auto [number, plan] : llvm::enumerate(result.plans)) {
    if (isImpossible(plan))
      continue;
    if (number < result.ties) {
      ++ties;
      if (number <= result.simplest)
        simplest = left.size();
    }
    left.push_back(std::move(plan));
  }
  result.plans = std::move(left);
  result.ties = ties;
  result.simplest = simplest;
}

llvm::Error mlir::ppc::compareWithFinalEstimate(const PlanRequest &request, PlanSearchResult &result) {
  std::vector<const Plan *> plans;
  for (const Plan &plan : result.plans)
    plans.push_back(&plan);
  for (const PlanAlternative &alternative : result.alternatives)
    if (alternative.plan)
      plans.push_back(&*alternative.plan);
  for (const Plan &plan : result.frontier)
    plans.push_back(&plan);
  std::vector<Findings> findings(plans.size());
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(request.threads));
    for (size_t i = 0; i < plans.size(); ++i)
      pool.async([&, i] { findings[i] = examine(request, *plans[i]); });
    pool.wait();
  }
  size_t next = 0;
  auto isImpossible = [&](const Plan &plan) {
    const Findings &found = findings[next++];
    if (!found.impossible.empty())
      result.notes.push_back(
          llvm::formatv("{0} is left out, please report it: {1}", toString(plan.layout), found.impossible).str());
    else if (!found.difference.empty())
      result.notes.push_back(llvm::formatv("the final estimate differs from the search, please report it: {0}: {1}",
                                           toString(plan.layout), found.difference)
                                 .str());
    return !found.impossible.empty();
  };
  // In the order in which they were listed.
  const size_t listed = result.plans.size();
  takeOut(result, isImpossible);
  for (PlanAlternative &alternative : result.alternatives)
    if (alternative.plan && isImpossible(*alternative.plan)) {
      alternative.plan.reset();
      alternative.reason = "the one that was found cannot be run";
    }
  llvm::erase_if(result.frontier, isImpossible);
  if (listed && result.plans.empty())
    return llvm::createStringError("internal error, please report it: " + result.notes.back());
  return llvm::Error::success();
}
