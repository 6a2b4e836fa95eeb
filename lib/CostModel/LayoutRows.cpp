#include "ppc/CostModel/LayoutRows.h"

#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/PredictionInterval.h"
#include "ppc/Support/CsvReader.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <cmath>

using namespace mlir::ppc;

static constexpr llvm::StringRef columnNames[] = {"id",
                                                  "model",
                                                  "layers",
                                                  "hidden",
                                                  "heads",
                                                  "kv_heads",
                                                  "head_dim",
                                                  "ffn",
                                                  "gated",
                                                  "vocab",
                                                  "tied",
                                                  "dropout",
                                                  "experts",
                                                  "top_k",
                                                  "moe_ffn",
                                                  "shared_experts",
                                                  "seq_len",
                                                  "cluster",
                                                  "devices",
                                                  "tp",
                                                  "global_batch",
                                                  "micro_batch",
                                                  "pp",
                                                  "vp",
                                                  "dp",
                                                  "cp",
                                                  "ep",
                                                  "etp",
                                                  "sp",
                                                  "zero",
                                                  "shard_group",
                                                  "gradient_group",
                                                  "parameter_group",
                                                  "schedule",
                                                  "recompute",
                                                  "offload",
                                                  "precision",
                                                  "attention",
                                                  "norm",
                                                  "recomputed_layers",
                                                  "stack",
                                                  "stage_groups"};

namespace {
/// Reads the cells of one row; the first bad one sticks.
class RowReader {
public:
  RowReader(const std::vector<int> &columns, const std::vector<std::string> &cells) : columns(columns), cells(cells) {}

  llvm::StringRef text(llvm::StringRef column) const {
    for (size_t i = 0; i < std::size(columnNames); ++i)
      if (columnNames[i] == column)
        return columns[i] < 0 ? llvm::StringRef() : llvm::StringRef(cells[columns[i]]).trim();
    return {};
  }
  bool has(llvm::StringRef column) const { return !text(column).empty(); }

  int64_t integer(llvm::StringRef column, int64_t fallback, int64_t minimum = 1, int64_t maximum = limits::modelSize) {
    llvm::StringRef cell = text(column);
    if (cell.empty())
      return fallback;
    double value = 0;
    if (hasLeadingZero(cell) || cell.getAsDouble(value) || value != std::floor(value) || value < double(minimum) ||
        value > double(maximum)) {
      fail(column, "an integer from " + llvm::Twine(minimum) + " to " + llvm::Twine(maximum));
      return fallback;
    }
    return int64_t(value);
  }
  /// Within [0, 1).
  double share(llvm::StringRef column, double fallback) {
    llvm::StringRef cell = text(column);
    double value = fallback;
    if (!cell.empty() && (cell.getAsDouble(value) || !(value >= 0 && value < 1)))
      fail(column, "a number of at least 0 and below 1");
    return value;
  }
  bool flag(llvm::StringRef column, bool fallback) {
    llvm::StringRef cell = text(column);
    if (cell.empty())
      return fallback;
    if (cell == "1" || cell == "true" || cell == "on")
      return true;
    if (cell != "0" && cell != "false" && cell != "off")
      fail(column, "0 or 1");
    return false;
  }
  void fail(llvm::StringRef column, const llvm::Twine &expected) {
    if (error.empty())
      error = ("column " + column + ": expected " + expected + ", found '" + text(column).take_front(60) + "'").str();
  }

  std::string error;

private:
  const std::vector<int> &columns;
  const std::vector<std::string> &cells;
};

/// Models, clusters and stacks that rows share, by their spelling.
struct Shared {
  llvm::StringMap<std::shared_ptr<const ModelShape>> models;
  llvm::StringMap<std::shared_ptr<const Cluster>> clusters;
  llvm::StringMap<std::shared_ptr<const Stack>> stacks;
  llvm::StringMap<std::string> errors;
};
} // namespace

template <typename T, typename Find>
static std::shared_ptr<const T> share(llvm::StringMap<std::shared_ptr<const T>> &known, Shared &shared,
                                      llvm::StringRef key, std::string &error, Find find) {
  if (auto it = known.find(key); it != known.end())
    return it->second;
  if (auto it = shared.errors.find(key); it != shared.errors.end()) {
    error = it->second;
    return nullptr;
  }
  llvm::Expected<T> value = find();
  if (!value) {
    error = shared.errors[key] = llvm::toString(value.takeError());
    return nullptr;
  }
  return known[key] = std::make_shared<const T>(std::move(*value));
}

static ModelShape modelOfRow(RowReader &row) {
  ModelShape model;
  model.layers = row.integer("layers", 0, 1, limits::layers);
  model.hidden = row.integer("hidden", 0);
  model.heads = row.integer("heads", 0);
  model.kvHeads = row.integer("kv_heads", model.heads);
  model.headDim = row.integer("head_dim", model.heads ? model.hidden / model.heads : 0);
  model.gated = row.flag("gated", false);
  model.ffn = row.integer("ffn", 4 * model.hidden);
  model.vocab = row.integer("vocab", 0);
  model.tiedEmbeddings = row.flag("tied", !model.gated);
  // What goes with the two kinds of feed-forward in models of these shapes.
  model.norm = model.gated ? NormKind::RmsNorm : NormKind::LayerNorm;
  model.position = model.gated ? PositionKind::Rotary : PositionKind::Learned;
  model.activation = model.gated ? ActivationKind::Silu : ActivationKind::Gelu;
  model.attentionBias = model.outputBias = model.ffnBias = model.normBias = !model.gated;
  model.maxPositions = model.gated ? 0 : row.integer("seq_len", 0);
  model.moe.experts = row.integer("experts", 0, 0);
  if (model.moe) {
    model.moe.topK = row.integer("top_k", 1);
    model.moe.ffn = row.integer("moe_ffn", model.ffn);
    model.moe.sharedFfn = row.integer("shared_experts", 0, 0) * model.moe.ffn;
  }
  model.dropout = row.share("dropout", 0);
  model.name = "row";
  return model;
}

static std::string shapeKey(const RowReader &row) {
  std::string key;
  for (llvm::StringRef column : {"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated", "vocab", "tied",
                                 "experts", "top_k", "moe_ffn", "shared_experts", "seq_len", "dropout"})
    key += row.text(column).str() + "/";
  return key;
}

static void readLayout(RowReader &row, LayoutRow &result) {
  ParallelLayout &layout = result.layout;
  result.job.sequence = row.integer("seq_len", 0, 1, limits::sequenceLength);
  result.job.globalBatch = row.integer("global_batch", 0, 1, limits::globalBatch);
  layout.tp = row.integer("tp", 1, 1, limits::devices);
  layout.pp = row.integer("pp", 1, 1, limits::devices);
  layout.vp = row.integer("vp", 1, 1, limits::devices);
  layout.cp = row.integer("cp", 1, 1, limits::devices);
  layout.ep = row.integer("ep", 1, 1, limits::devices);
  layout.etp = row.integer("etp", 1, 1, limits::devices);
  layout.microBatch = row.integer("micro_batch", 1, 1, limits::globalBatch);
  layout.sequenceParallel = row.flag("sp", false);
  layout.zero = row.integer("zero", 0, 0, 3);
  layout.shardGroup = row.integer("shard_group", 0, 0, limits::devices);
  layout.gradientGroup = row.integer("gradient_group", 0, 0, limits::devices);
  layout.parameterGroup = row.integer("parameter_group", 0, 0, limits::devices);
  layout.schedule = row.has("schedule") ? row.text("schedule").str() : layout.vp > 1 ? "interleaved" : "1f1b";
  // Also where there is one stage and nothing to schedule.
  if (llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(layout.schedule); !kind) {
    if (std::string unknown = llvm::toString(kind.takeError()); row.error.empty())
      row.error = "column schedule: " + unknown;
  }
  if (row.has("recompute")) {
    if (auto parsed = parseRecompute(row.text("recompute")))
      layout.recompute = *parsed;
    else
      row.fail("recompute", "none, selective or full");
  }
  layout.recomputedLayers = row.integer("recomputed_layers", -1, 0, limits::layers);
  if (row.has("offload")) {
    if (auto parsed = parseOffload(row.text("offload")))
      layout.offload = *parsed;
    else
      row.fail("offload", "none, optimizer or activations");
  }
  if (row.has("precision")) {
    int precision = 0;
    while (precision < precisionCount && toString(static_cast<Precision>(precision)) != row.text("precision"))
      ++precision;
    if (precision == precisionCount)
      row.fail("precision", "f32, tf32, bf16, fp16, fp8, mxfp8 or fp4");
    else
      layout.precision = static_cast<Precision>(precision);
  }
  if (row.has("attention")) {
    auto parsed = llvm::StringSwitch<std::optional<AttentionKernel>>(row.text("attention"))
                      .Case("unfused", AttentionKernel::Unfused)
                      .Case("fused-softmax", AttentionKernel::FusedSoftmax)
                      .Case("flash1", AttentionKernel::Flash1)
                      .Case("flash2", AttentionKernel::Flash2)
                      .Case("flash3", AttentionKernel::Flash3)
                      .Case("cudnn", AttentionKernel::Cudnn)
                      .Case("flash1-triton", AttentionKernel::TritonFlash1)
                      .Default(std::nullopt);
    if (parsed)
      layout.attention = *parsed;
    else
      row.fail("attention", "unfused, fused-softmax, flash1, flash1-triton, flash2, flash3 or cudnn");
  }
  if (row.has("norm") && row.text("norm") != "fused" && row.text("norm") != "unfused")
    row.fail("norm", "fused or unfused");
  layout.fusedNorm = row.text("norm") != "unfused";
  llvm::SmallVector<llvm::StringRef, 8> groups;
  if (row.has("stage_groups"))
    row.text("stage_groups").split(groups, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef group : groups) {
    std::optional<int64_t> number = parseWhole(group);
    if (!number || *number < 0)
      row.fail("stage_groups",
               "a group of the cluster's devices, from 0, for each of the pp stages, with spaces between them");
    layout.stageGroups.push_back(number.value_or(0));
  }
  for (llvm::StringRef needed : {"seq_len", "global_batch", "cluster"})
    if (!row.has(needed))
      row.fail(needed, "a value");
}

/// The cluster of a row: a preset without a node count grows to the devices asked for.
static llvm::Expected<Cluster> clusterOfRow(llvm::StringRef spelling, int64_t devices) {
  llvm::Expected<Cluster> cluster = findCluster(spelling);
  if (!cluster || !devices || cluster->deviceCount() == devices)
    return cluster;
  if (cluster->deviceCount() < devices && !spelling.contains(':') && !spelling.ends_with(".yaml")) {
    int64_t perNode = cluster->deviceCount();
    cluster = findCluster((spelling + ":" + llvm::Twine((devices + perNode - 1) / perNode)).str());
    if (!cluster || cluster->deviceCount() == devices)
      return cluster;
  }
  return restrictCluster(*cluster, devices);
}

llvm::Expected<std::vector<LayoutRow>> mlir::ppc::readLayoutRows(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<CsvTable> table = readCsv(name, text);
  if (!table)
    return table.takeError();
  std::vector<int> columns(std::size(columnNames), -1);
  for (size_t i = 0; i < table->header.size(); ++i) {
    llvm::StringRef column = llvm::StringRef(table->header[i]).trim();
    auto known = llvm::find(columnNames, column);
    if (known == std::end(columnNames))
      return llvm::createStringError(name + ":1: error: unknown column '" + column + "'; known are " +
                                     llvm::join(std::begin(columnNames), std::end(columnNames), ", ") +
                                     didYouMean(column, columnNames));
    columns[known - std::begin(columnNames)] = int(i);
  }
  Shared shared;
  std::vector<LayoutRow> rows(table->rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    RowReader row(columns, table->rows[i]);
    LayoutRow &result = rows[i];
    result.id = row.has("id") ? row.text("id").str() : std::to_string(i + 1);
    readLayout(row, result);
    int64_t devices = row.integer("devices", 0, 1, limits::devices);
    std::string &error = row.error;
    if (error.empty()) {
      llvm::StringRef path = row.text("model");
      result.model = share(
          shared.models, shared, path.empty() ? shapeKey(row) : path.str(), error, [&]() -> llvm::Expected<ModelShape> {
            if (!path.empty())
              return readModelShape(path);
            if (!row.has("layers"))
              return llvm::createStringError(
                  "column model: expected the path of a config.json, or layers, hidden, heads, vocab, ...");
            ModelShape model = modelOfRow(row);
            if (!row.error.empty())
              return llvm::createStringError(row.error);
            if (llvm::Error bad = verifyModelShape(model))
              return std::move(bad);
            return model;
          });
    }
    if (error.empty()) {
      std::string key = (row.text("cluster") + "#" + llvm::Twine(devices)).str();
      result.cluster =
          share(shared.clusters, shared, key, error, [&] { return clusterOfRow(row.text("cluster"), devices); });
    }
    if (error.empty()) {
      std::string stack = row.has("stack") ? row.text("stack").str() : "ppc";
      result.stack = share(shared.stacks, shared, stack, error, [&] { return findStack(stack); });
    }
    if (error.empty()) {
      ParallelLayout &layout = result.layout;
      if (!row.has("attention"))
        for (const DeviceGroup &group : result.cluster->groups) { // the newest that one of them has
          layout.attention = defaultAttention(group.device, *result.stack);
          if (layout.attention == result.stack->attention)
            break;
        }
      if (layout.stageGroups.empty() && result.cluster->groups.size() > 1)
        error = llvm::toString(verifyStageGroups(*result.cluster, layout));
      int64_t all = devices ? devices : result.cluster->deviceCount(), inner = layout.tp * layout.pp * layout.cp;
      layout.dp = row.integer("dp", std::max<int64_t>(1, all / inner), 1, limits::devices);
      bool chooses = !layout.stageGroups.empty(); // stages may leave devices of a group over
      if (error.empty() && layout.devices() != all && !(chooses && row.has("dp")) && (devices || !row.has("dp")))
        error =
            ("dp " + llvm::Twine(layout.dp) + " x tp " + llvm::Twine(layout.tp) + " x pp " + llvm::Twine(layout.pp) +
             " x cp " + llvm::Twine(layout.cp) + " is not the " + llvm::Twine(all) + " devices")
                .str();
    }
    result.error = error;
  }
  return rows;
}

static void writeRow(const LayoutRow &row, StepEstimator &estimator, llvm::ArrayRef<RowColumn> more,
                     llvm::raw_ostream &out) {
  out << csvCell(row.id) << ',';
  std::string error = row.error;
  if (error.empty()) {
    StepDetail detail;
    llvm::Expected<StepCost> cost =
        estimator.estimate(*row.model, row.job, *row.cluster, row.layout, *row.stack, more.empty() ? nullptr : &detail);
    if (cost) {
      out << int(cost->fits) << ','
          << llvm::format("%.6g,%.4f,%.4f,%.2f,%.4f,%.3f,%.3f,", cost->stepTime.value, 100 * cost->mfu, 100 * cost->hfu,
                          cost->tokensPerSecondPerDevice, cost->peakMemory.value / (1 << 30), 100 * cost->bubble,
                          100 * (cost->exposedCommunication / cost->stepTime));
      StepFeatures features = featuresOf(*row.model, row.job, *row.cluster, row.layout, *row.stack);
      PredictionInterval interval = predictionInterval(features);
      out << llvm::format("%.6g,%.6g,", interval.low * cost->stepTime.value, interval.high * cost->stepTime.value)
          << (interval.isNear() ? interval.nearest : "nothing near") << ',' << toString(features) << ',';
      for (const RowColumn &column : more)
        out << csvCell(column.cell(row, detail, *cost)) << ',';
      out << '\n';
      return;
    }
    error = llvm::toString(cost.takeError());
  }
  out << ",,,,,,,,,,,," << std::string(more.size(), ',') << csvCell(error) << '\n';
}

void mlir::ppc::evaluateRows(llvm::ArrayRef<LayoutRow> rows, llvm::raw_ostream &out, llvm::ArrayRef<RowColumn> more,
                             unsigned threads) {
  out << "id,fits,step_time_s,mfu_pct,hfu_pct,tokens_per_s_per_device,peak_memory_GiB,bubble_pct,exposed_comm_pct,"
         "step_time_low_s,step_time_high_s,nearest,features,";
  for (const RowColumn &column : more)
    out << column.name << ',';
  out << "error\n";
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
  unsigned parts = std::max(1u, unsigned(std::min<size_t>(pool.getMaxConcurrency(), rows.size() / 64 + 1)));
  std::vector<std::string> texts(parts);
  for (unsigned part = 0; part < parts; ++part)
    pool.async([&, part] {
      llvm::raw_string_ostream text(texts[part]);
      StepEstimator estimator;
      for (size_t i = rows.size() * part / parts; i < rows.size() * (part + 1) / parts; ++i)
        writeRow(rows[i], estimator, more, text);
    });
  pool.wait();
  for (const std::string &text : texts)
    out << text;
}
