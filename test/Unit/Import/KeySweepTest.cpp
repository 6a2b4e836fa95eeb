// Configurations that differ in a key against what transformers made of them: the tables of test/Inputs/KeySweep, which
// tools/dev/key-sweep.py writes. What transformers computes from is never imported as something else.
#include "ImportedValues.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

constexpr double lossTolerance = 1e-5;
constexpr int64_t longSequence = 16384; // longer than the windows that classes have by default

/// One line: what is changed in the base, what the reference made of it, and what PPC does.
struct Row {
  llvm::json::Object changes;
  llvm::json::Value reference, outcome;
};

struct Table {
  llvm::json::Object base;
  double loss = 0; // loss of the base
  std::vector<Row> rows;

  explicit Table(llvm::StringRef architecture) {
    std::string path = (PPC_TEST_INPUTS "/KeySweep/" + architecture + ".jsonl").str();
    auto file = llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
    llvm::SmallVector<llvm::StringRef> lines;
    file->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef line : lines) {
      llvm::json::Value value = llvm::cantFail(llvm::json::parse(line));
      if (const llvm::json::Object *head = value.getAsObject()) {
        base = *head->getObject("base");
        loss = *head->getNumber("loss");
        continue;
      }
      llvm::json::Array &fields = *value.getAsArray();
      rows.push_back({*fields[0].getAsObject(), fields[1], fields[2]});
    }
  }

  /// The config.json of a row.
  llvm::json::Object configOf(const llvm::json::Object &changes) const {
    llvm::json::Object config = base;
    for (auto &[key, value] : changes)
      if (value == "(absent)")
        config.erase(key);
      else
        config[key] = value;
    return config;
  }
};

std::string textOf(const llvm::json::Object &config) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(config)));
}

class KeySweep : public testing::TestWithParam<llvm::StringRef> {
protected:
  KeySweep() : context(MLIRContext::Threading::DISABLED) { context.loadDialect<PpcDialect, func::FuncDialect>(); }

  /// The interpreter's loss; of equal modules once.
  double lossOf(const ImportedModel &imported) {
    auto [it, isNew] = losses.try_emplace(imported.text, 0);
    if (isNew)
      it->second = computeValues(*imported.module, /*gradients=*/false).loss;
    return it->second;
  }

  void checkLoss(const ImportedModel &imported, double expected, const std::string &what) {
    EXPECT_NEAR(lossOf(imported), expected, lossTolerance * expected) << what;
  }

  /// A file without the key is one with the default of the reference's class, at any length of sequences.
  void checkDefault(llvm::json::Object config, const llvm::json::Object &changes, const llvm::json::Value &value) {
    for (llvm::StringRef key : {"max_position_embeddings", "n_positions"})
      if (config.get(key))
        config[key] = 2 * longSequence;
    llvm::StringRef key = changes.begin()->first;
    config.erase(key);
    ImportedModel absent = importText(textOf(config), context, longSequence);
    config[key] = value;
    ImportedModel present = importText(textOf(config), context, longSequence);
    if (absent.module && present.module)
      EXPECT_TRUE(absent.text == present.text)
          << "without " << key.str() << " something else is imported than with " << llvm::formatv("{0}", value).str();
  }

  void checkRow(const Table &table, const Row &row, const std::string &baseText) {
    llvm::json::Object config = table.configOf(row.changes);
    std::string what = textOf(row.changes);
    ImportedModel imported = importText(textOf(config), context);
    if (auto outcome = row.outcome.getAsString(); outcome && outcome->consume_front("refused ")) {
      EXPECT_FALSE(imported.module) << what << " is imported";
      EXPECT_NE(imported.refusal.find(outcome->str()), std::string::npos) << what << ": " << imported.refusal;
      return;
    }
    ASSERT_TRUE(imported.module) << what << ": " << imported.refusal;
    // The loss does not depend on initial values, on tokens that the data does not contain, nor on weights outside of
    // the model.
    bool elsewhere = row.changes.get("initializer_range") || row.changes.get("pad_token_id") ||
                     row.changes.get("num_nextn_predict_layers");
    if (row.reference == "same" && !elsewhere)
      EXPECT_TRUE(imported.text == baseText) << what << " changes nothing in the reference, and the module";
    else if (row.reference == "same")
      checkLoss(imported, table.loss, what);
    else if (auto loss = row.reference.getAsNumber())
      checkLoss(imported, *loss, what);
    if (const llvm::json::Object *outcome = row.outcome.getAsObject())
      checkDefault(config, row.changes, *outcome->get("default"));
  }

  MLIRContext context;
  llvm::StringMap<double> losses;
};

TEST_P(KeySweep, MatchesTheReference) {
  Table table(GetParam());
  ImportedModel base = importText(textOf(table.base), context);
  ASSERT_TRUE(base.module) << base.refusal;
  checkLoss(base, table.loss, "the base");
  EXPECT_GT(table.rows.size(), 300u);
  for (const Row &row : table.rows)
    checkRow(table, row, base.text);
}

/// Keys that the importer ignores are allowed for a reason: at the values that the table names, the reference computes
/// the same. A family that reads such a key itself gives it a meaning.
TEST_P(KeySweep, KeysWithoutEffectChangeNothing) {
  Table table(GetParam());
  ImportedModel base = importText(textOf(table.base), context);
  llvm::StringSet<> shown;
  for (const Row &row : table.rows) {
    if (row.changes.size() != 1)
      continue;
    const auto &[key, value] = *row.changes.begin();
    auto rule = llvm::find_if(keysWithoutEffect(), [&, &key = key](auto &rule) { return rule.key == key.str(); });
    if (rule == keysWithoutEffect().end() || (!rule->values.empty() && !llvm::is_contained(rule->values, value)))
      continue;
    shown.insert(key.str());
    if (key.str() == "pad_token_id") // which runs read, and say of data that holds it
      continue;
    if (row.reference != "same")
      EXPECT_NE(importText(textOf(table.configOf(row.changes)), context).text, base.text) << textOf(row.changes);
  }
  for (const KeyWithoutEffect &rule : keysWithoutEffect())
    EXPECT_TRUE(shown.contains(rule.key) || table.base.get(rule.key))
        << rule.key.str() << " is read over, and the sweep does not say that it may be";
}

INSTANTIATE_TEST_SUITE_P(Architectures, KeySweep, testing::ValuesIn(modelArchitectures()),
                         [](const auto &info) { return info.param.str(); });

} // namespace
