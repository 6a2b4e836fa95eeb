// Plan files as the compiler reads them: written ones, and damaged ones.
#include "../Support/TextMutation.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "ppc/Transforms/Plan/PlanFile.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;

namespace {

/// A file of its own, and what reading it says.
class PlanFile : public ::testing::Test {
protected:
  PlanFile() {
    context.loadDialect<PpcDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("plan", "yaml", path));
  }
  ~PlanFile() override { llvm::sys::fs::remove(path); }

  /// Null where it is refused; `messages` then says why.
  PlanAttr read(StringRef text) {
    std::error_code problem;
    llvm::raw_fd_ostream file(path, problem);
    file << text;
    file.close();
    messages.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    FailureOr<PlanAttr> plan = readPlanFile(path, *module, hostCapabilities());
    return succeeded(plan) ? *plan : PlanAttr();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallString<128> path;
  std::string messages;
};

constexpr StringRef examples[] = {
    R"(grid: { dp: 2, tp: 2 }
stages: [ 0, 3 ]
schedule: 1f1b
micro_batches: 8
dimensions: { batch: [ dp ], ffn: [ tp ], kv_heads: [ tp ], vocab: [ tp ] }
parameters:
  model.norm.weight: [ [ dp ] ]
  model.embed.weight: [ [ dp, tp ], [  ] ]
)",
    R"(# predicted for dp 2
layout:
  dp: 4
  tp: 2
  schedule: 1f1b
  stage_layers: [ 2, 2 ]
grid: { tp: 2, dp: 4 }
stages: [ 0 ]
schedule: 1f1b
micro_batches: 1
dimensions: { batch: [ dp ] }
recompute: { 0-3: full, 4: "silu, mul" }
activations: { sequence: [ tp ] }
update: [ dp ]
overlap: on
ops:
  axes: { tp: 2 }
  layer 1: {}
)"};

TEST_F(PlanFile, IsReadAsItWasWritten) {
  for (StringRef text : examples) {
    PlanAttr plan = read(text);
    ASSERT_TRUE(plan) << messages;
    PlanAttr again = read(planText(plan));
    ASSERT_TRUE(again) << messages;
    EXPECT_EQ(plan, again) << planText(plan);
  }
}

// Lists in lists without end are an error, not the end of the stack.
TEST_F(PlanFile, RefusesDeepNesting) {
  for (StringRef piece : {"[", "{ a: ", "- "}) {
    std::string text = "stages: \n  ";
    for (int i = 0; i < 200000; ++i)
      text += piece;
    EXPECT_FALSE(read(text));
    EXPECT_NE(messages, "");
  }
}

// PPC_FUZZ_SECONDS: how long; a fraction of a second without it.
TEST_F(PlanFile, DamagedFilesGiveErrorsOrPlans) {
  unsigned accepted = 0, refused = 0;
  auto test = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::string text =
        damage(random, examples[seed % std::size(examples)].str(),
               {"[ ]",   "{ }",  "[",      "]",        "{",        "}",     ": ",    "- ",
                "\n",    "\n\n", "'",      "\"",       "&a ",      "*a ",   "!!x ",  "---\n",
                "...\n", "|",    "\t",     "null",     "0",        "-1",    "1e400", "99999999999999999999",
                "dp",    "tp",   "grid: ", "stages: ", "layout: ", "ops: ", "axes",  "? ",
                "%",     "#",    "\xff",   "~"});
    if (PlanAttr plan = read(text)) {
      ++accepted;
      EXPECT_EQ(read(planText(plan)), plan) << "seed " << seed << ": " << messages << planText(plan) << "\nfrom\n"
                                            << text;
    } else {
      ++refused;
      EXPECT_NE(messages, "") << "seed " << seed << "\n" << text;
    }
  };
  repeatWithSeeds(test);
  EXPECT_GT(accepted, 10u); // both kinds are reached
  EXPECT_GT(refused, 10u);
}

} // namespace
