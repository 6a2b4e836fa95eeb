#include "ppc/CostModel/LayoutRows.h"

#include "../Support/TextMutation.h"
#include "ppc/Support/CsvReader.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::ppc;

static constexpr llvm::StringLiteral header =
    "id,layers,hidden,heads,kv_heads,ffn,gated,vocab,tied,experts,top_k,moe_ffn,seq_len,global_batch,micro_batch,"
    "cluster,devices,tp,pp,"
    "vp,dp,cp,ep,sp,zero,schedule,recompute,offload,precision,attention,norm,stack\n";
static constexpr llvm::StringLiteral rows = "a,32,4096,32,8,14336,1,128256,0,,,,8192,64,1,dgx-h100:4,,4,2,2,,,,1,1,"
                                            "interleaved,selective,none,bf16,flash3,fused,ppc\n"
                                            "b,24,2048,16,16,8192,0,50304,1,,,,2048,512,4,dgx-a100:2,16,1,1,1,16,1,1,0,"
                                            "3,1f1b,full,none,fp16,unfused,unfused,fsdp\n"
                                            "c,32,4096,32,8,14336,1,32000,0,8,2,14336,4096,128,1,dgx-h100:8,64,2,4,1,8,"
                                            "1,8,1,1,1f1b,none,none,fp8,flash2,fused,megatron-core\n";

static std::string evaluate(llvm::ArrayRef<LayoutRow> read) {
  std::string text;
  llvm::raw_string_ostream out(text);
  evaluateRows(read, out, {}, 1);
  return text;
}

TEST(LayoutRows, EachRowGivesOneRow) {
  std::vector<LayoutRow> read = llvm::cantFail(readLayoutRows("r.csv", (header + rows).str()));
  ASSERT_EQ(read.size(), 3u);
  CsvTable table = llvm::cantFail(readCsv("o.csv", evaluate(read)));
  ASSERT_EQ(table.rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(table.rows[i][0], std::string(1, char('a' + i)));
    EXPECT_EQ(table.rows[i].back(), "");
    EXPECT_GT(std::atof(table.rows[i][2].c_str()), 0);
  }
}

TEST(LayoutRows, MissingAndUnknownColumnsAreNamed) {
  auto errorOf = [](llvm::StringRef table) {
    std::vector<LayoutRow> read = llvm::cantFail(readLayoutRows("r.csv", table));
    return read.front().error;
  };
  EXPECT_EQ(errorOf("id,cluster,seq_len,global_batch\na,dgx-a100,1024,8\n"),
            "column model: expected the path of a config.json, or layers, hidden, heads, vocab, ...");
  // Columns are checked even if one stage leaves nothing to schedule.
  llvm::StringRef shape =
      "layers,hidden,heads,vocab,cluster,seq_len,global_batch,schedule\n2,64,2,512,dgx-a100,1024,8,";
  EXPECT_EQ(errorOf((shape + "1f1b\n").str()), "");
  EXPECT_EQ(errorOf((shape + "2f2b\n").str()).rfind("column schedule: unknown pipeline schedule \"2f2b\"", 0), 0u);
}

TEST(LayoutRows, UtilizationIsOfTheTypeThatStandsIn) {
  // A V100 has no bf16 and an A100 no fp8: matmuls run in the next wider type, and count against its peak.
  std::string text = ("layers,hidden,heads,vocab,seq_len,global_batch,cluster,precision\n"
                      "24,2048,16,50304,2048,64,dgx-v100,bf16\n24,2048,16,50304,2048,64,dgx-v100,fp16\n"
                      "24,2048,16,50304,2048,64,dgx-a100,fp8\n24,2048,16,50304,2048,64,dgx-a100,bf16\n");
  CsvTable table = llvm::cantFail(readCsv("o.csv", evaluate(llvm::cantFail(readLayoutRows("r.csv", text)))));
  ASSERT_EQ(table.rows.size(), 4u);
  for (size_t i = 0; i < 4; i += 2) {
    double step[2], utilization[2];
    for (size_t j = 0; j < 2; ++j) {
      step[j] = std::atof(table.rows[i + j][2].c_str());
      utilization[j] = std::atof(table.rows[i + j][3].c_str());
      ASSERT_GT(utilization[j], 0);
    }
    EXPECT_NEAR(utilization[0] * step[0], utilization[1] * step[1], 1e-3 * utilization[1] * step[1]);
  }
}

TEST(LayoutRows, DamagedTablesGiveErrorsOrNumbers) {
  static constexpr llvm::StringRef pieces[] = {
      "-1",         "0",   "1e400", "nan",   ",",      "\n", "\"",   "\r\n",
      "\xff",       "8",   "3",     "full",  "on",     "64", "1e15", "99999999999999999999",
      "dgx-h100:1", "zbv", "fp4",   "gpipe", "flash1", "tp,"};
  int accepted = 0, refused = 0, wrong = 0;
  repeatWithSeeds([&](unsigned seed) {
    std::mt19937 random(seed);
    std::string text = damage(random, (header + rows).str(), pieces);
    llvm::Expected<std::vector<LayoutRow>> read = readLayoutRows("r.csv", text);
    if (!read) {
      std::string message = llvm::toString(read.takeError());
      EXPECT_EQ(message.rfind("r.csv:", 0), 0u) << "seed " << seed << ": " << message;
      ++refused;
      return;
    }
    ++accepted;
    llvm::Expected<CsvTable> table = readCsv("o.csv", evaluate(*read));
    ASSERT_TRUE(bool(table)) << "seed " << seed << ": " << llvm::toString(table.takeError());
    ASSERT_EQ(table->rows.size(), read->size()) << "seed " << seed;
    for (const std::vector<std::string> &row : table->rows) {
      bool failed = !row.back().empty();
      wrong += failed;
      for (size_t i = 1; i + 1 < row.size(); ++i) {
        EXPECT_EQ(row[i].empty(), failed) << "seed " << seed;
        if (!failed)
          EXPECT_TRUE(std::isfinite(std::atof(row[i].c_str())) && std::atof(row[i].c_str()) >= 0)
              << "seed " << seed << ": " << table->header[i] << " is " << row[i] << "\n"
              << text;
      }
    }
  });
  EXPECT_GT(accepted, 5);
  EXPECT_GT(refused, 5);
  EXPECT_GT(wrong, 5);
}
