// Answers tools/dev/key-sweep.py: each line of the standard input is {"config": CONFIG}, or with "sequence": N one of
// another length than the sweep's; its answer is one line of JSON,
//   {"refused": MESSAGE}
//   {"module": HASH, "parameters": N}                                          more than maxParameters, or another
//   length
//   {"module": HASH, "parameters": N, "loss": X, "gradients": {NAME: [...]}}   the first time that HASH appears
#include "ImportedValues.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MD5.h"

#include <iostream>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

static constexpr int64_t maxParameters = 200000;

static llvm::json::Object answerTo(StringRef line, MLIRContext &context, llvm::StringSet<> &answered) {
  llvm::json::Value question = llvm::cantFail(llvm::json::parse(line));
  std::string config = llvm::formatv("{0}", *question.getAsObject()->get("config"));
  int64_t sequence = question.getAsObject()->getInteger("sequence").value_or(sweepSequence);
  ImportedModel imported = importText(config, context, sequence);
  if (!imported.module)
    return llvm::json::Object{{"refused", imported.refusal}};
  llvm::MD5 hash;
  hash.update(imported.text);
  llvm::MD5::MD5Result digest;
  hash.final(digest);
  std::string name = digest.digest().str().str();
  int64_t count = parameterCount(*imported.module);
  llvm::json::Object answer{{"module", name}, {"parameters", count}};
  if (count > maxParameters || sequence != sweepSequence || !answered.insert(name).second)
    return answer;
  ImportedValues values = computeValues(*imported.module, /*gradients=*/true);
  answer["loss"] = values.loss;
  llvm::json::Object gradients;
  for (auto &[parameter, numbers] : values.gradients)
    gradients[parameter] = llvm::json::Array(numbers);
  answer["gradients"] = std::move(gradients);
  return answer;
}

int main() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<PpcDialect, func::FuncDialect>();
  llvm::StringSet<> answered;
  for (std::string line; std::getline(std::cin, line);) {
    llvm::outs() << llvm::json::Value(answerTo(line, context, answered)) << "\n";
    llvm::outs().flush();
  }
}
