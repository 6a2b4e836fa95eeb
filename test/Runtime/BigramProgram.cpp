// Manifest and functions of the test program.
#include "test/Runtime/BigramProgram.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace ppcrt::test {
namespace {

using nlohmann::json;

struct Layout {
  int pp = 1, dp = 1, tp = 1;
  int rows() const { return globalBatch / microBatches / dp * sequenceLength; } // rows of a micro-batch on one rank
  int block() const { return (vocabulary + tp - 1) / tp; }                      // rows of E on one rank
} layout;

enum Group { Tp, Dp, Pp };
enum Routine { Forward, Backward, Update };

enum What { Load, Run, Send, Receive };      // kinds of actions
enum Stream { Compute, Outgoing, Incoming }; // streams of a device
enum Message { Activation, ItsGradient };    // between the devices; also the tag
constexpr int ofStep = -1;                   // no micro-batch

// Lays out one device: buffers get names, and routines list them by name.
class DeviceBuilder {
public:
  void add(const std::string &name, json buffer, int elements, bool slots) {
    int64_t bytes = (int64_t(elements) * 4 + 63) / 64 * 64;
    buffer["offset"] = end;
    if (slots)
      buffer["slots"] = microBatches, buffer["stride"] = bytes;
    end += bytes * (slots ? microBatches : 1);
    names.push_back(name);
    buffers.push_back(buffer);
  }
  void routine(const char *kind, const std::string &entry, const std::vector<std::string> &arguments) {
    json routine = {{"kind", kind}, {"entry", entry}, {"buffers", json::array()}};
    for (const std::string &name : arguments)
      routine["buffers"].push_back(index(name));
    routines.push_back(routine);
  }
  void message(int to, int from, const std::string &buffer, Message tag) {
    messages.push_back({{"to", to}, {"from", from}, {"buffer", index(buffer)}, {"tag", int(tag)}});
  }
  // `afterLast`: whether it comes after the action before it.
  void act(What what, Stream stream, int number, int microBatch, bool afterLast = false) {
    actions.push_back({int(what), int(stream), number, microBatch});
    if (afterLast)
      actions.back().push_back(1);
  }
  json finish() const {
    return {{"arena_bytes", end},   {"buffers", buffers}, {"routines", routines}, {"streams", {"compute", "out", "in"}},
            {"messages", messages}, {"step", actions}};
  }

private:
  int index(const std::string &name) const { return int(std::find(names.begin(), names.end(), name) - names.begin()); }

  int64_t end = 0;
  std::vector<std::string> names;
  json buffers = json::array(), routines = json::array(), messages = json::array(), actions = json::array();
};

json parameterBuffer(const char *role, const char *name, int rows, bool cut) {
  json buffer = {{"role", role}, {"name", name}, {"type", "f32"}, {"shape", {rows, hidden}}};
  if (cut)
    buffer["blocks"] = {{{"dim", 0}, {"axes", {"tp"}}}};
  if (std::string(role) == "state")
    buffer["state"] = "m";
  return buffer;
}

json buildDevice(int stage) {
  DeviceBuilder builder;
  bool first = stage == 0, last = stage == layout.pp - 1;
  int rows = layout.rows();
  json input = {{"role", "input"},
                {"type", "i32"},
                {"shape", {rows / sequenceLength, sequenceLength}},
                {"blocks", {{{"dim", 0}, {"axes", {"dp"}}}}}};
  json activation = {{"role", layout.pp > 1 ? "message" : "saved"}, {"type", "f32"}, {"shape", {rows, hidden}}};
  json scalar = {{"type", "f32"}, {"shape", json::array()}};
  auto with = [](json base, const char *role, const char *name) {
    base["role"] = role;
    base["name"] = name;
    return base;
  };
  auto parameter = [&](const char *name, int count, bool cut) {
    for (const char *role : {"parameter", "gradient", "state"})
      builder.add(std::string(role) + name, parameterBuffer(role, name, count, cut), count * hidden, false);
  };
  if (first) {
    parameter("E", layout.block(), true);
    builder.add("ids", with(input, "input", "ids"), rows, true);
  }
  if (last) {
    parameter("W", vocabulary, false);
    builder.add("targets", with(input, "input", "targets"), rows, true);
    builder.add("logits", {{"role", "scratch"}, {"bytes", rows * vocabulary * 4}}, rows * vocabulary, false);
  }
  builder.add("h", activation, rows * hidden, true);
  builder.add("gh", activation, rows * hidden, true);
  builder.add("lossSum", with(scalar, "accumulator", ""), 1, false);
  builder.add("lr", with(scalar, "scalar", "learning_rate"), 1, false);
  builder.add("loss", with(scalar, "metric", "loss"), 1, false);
  builder.add("norm", with(scalar, "metric", "grad_norm"), 1, false);

  std::vector<std::string> forward, backward, update = {"lr", "lossSum", "loss", "norm"};
  if (first)
    forward = {"parameterE", "ids"}, backward = {"gradientE", "ids"};
  if (last) {
    for (const char *name : {"parameterW", "targets", "logits", "lossSum"})
      forward.push_back(name);
    for (const char *name : {"parameterW", "gradientW", "targets", "logits"})
      backward.push_back(name);
  }
  for (const char *role : {"parameter", "gradient", "state"}) {
    if (first)
      update.push_back(std::string(role) + "E");
    if (last)
      update.push_back(std::string(role) + "W");
  }
  for (auto *list : {&forward, &backward})
    list->insert(list->end(), {"h", "gh"});
  std::string prefix = "stage" + std::to_string(stage) + ".";
  builder.routine("forward", prefix + "forward", forward);
  builder.routine("backward", prefix + "backward", backward);
  builder.routine("update", prefix + "update", update);
  if (layout.pp > 1) {
    builder.message(first ? 1 : -1, first ? -1 : 0, "h", Activation);
    builder.message(first ? -1 : 0, first ? 1 : -1, "gh", ItsGradient);
  }
  for (int m = 0; m < microBatches; ++m) {
    builder.act(Load, Compute, 0, m);
    if (!first)
      builder.act(Receive, Incoming, Activation, m);
    builder.act(Run, Compute, Forward, m, !first);
    if (!last)
      builder.act(Send, Outgoing, Activation, m, true);
  }
  for (int m = 0; m < microBatches; ++m) {
    if (!last)
      builder.act(Receive, Incoming, ItsGradient, m);
    builder.act(Run, Compute, Backward, m, !last);
    if (!first)
      builder.act(Send, Outgoing, ItsGradient, m, true);
  }
  builder.act(Run, Compute, Update, ofStep);
  return builder.finish();
}

template <typename T = float> T *as(void *buffer) { return static_cast<T *>(buffer); }

void gemm(bool accumulate, int64_t m, int64_t n, int64_t k, const float *a, int64_t aRow, int64_t aCol, const float *b,
          int64_t bRow, int64_t bCol, float *c) {
  int64_t desc[] = {1, PPCRT_F32, accumulate, m, n, k, aRow, aCol, bRow, bCol, n, 1, 0};
  ppcrt_gemm(desc, a, b, c);
}

void embed(ppcrt_rank *rank, const float *table, const int32_t *ids, float *h) {
  int64_t start = ppcrt_coordinate(rank, Tp) * layout.block();
  for (int r = 0; r < layout.rows(); ++r)
    for (int j = 0; j < hidden; ++j) {
      int64_t row = ids[r] - start;
      h[r * hidden + j] = row >= 0 && row < layout.block() ? table[row * hidden + j] : 0;
    }
  ppcrt_all_reduce(rank, Tp, h, int64_t(layout.rows()) * hidden, PPCRT_F32, PPCRT_SUM);
}

void embedGradient(ppcrt_rank *rank, float *gradient, const int32_t *ids, const float *gh) {
  int64_t start = ppcrt_coordinate(rank, Tp) * layout.block();
  for (int r = 0; r < layout.rows(); ++r)
    if (int64_t row = ids[r] - start; row >= 0 && row < layout.block())
      for (int j = 0; j < hidden; ++j)
        gradient[row * hidden + j] += gh[r * hidden + j];
}

// Logits become their gradient; returns the loss summed over the rows, both divided by the tokens of a step.
float softmaxLoss(const float *w, const float *h, const int32_t *targets, float *logits) {
  double loss = 0, scale = 1.0 / (globalBatch * sequenceLength);
  gemm(false, layout.rows(), vocabulary, hidden, h, hidden, 1, w, 1, hidden, logits);
  for (int r = 0; r < layout.rows(); ++r) {
    float *row = logits + r * vocabulary;
    double most = *std::max_element(row, row + vocabulary), sum = 0;
    for (int v = 0; v < vocabulary; ++v)
      sum += std::exp(row[v] - most);
    loss += scale * (most + std::log(sum) - row[targets[r]]);
    for (int v = 0; v < vocabulary; ++v)
      row[v] = float(scale * (std::exp(row[v] - most) / sum - (v == targets[r])));
  }
  return float(loss);
}

void lossForward(ppcrt_rank *, void **b) { *as(b[3]) += softmaxLoss(as(b[0]), as(b[4]), as<int32_t>(b[1]), as(b[2])); }

void lossBackward(ppcrt_rank *, void **b) {
  softmaxLoss(as(b[0]), as(b[4]), as<int32_t>(b[2]), as(b[3]));
  gemm(true, vocabulary, hidden, layout.rows(), as(b[3]), 1, vocabulary, as(b[4]), hidden, 1, as(b[1]));
  gemm(false, layout.rows(), hidden, vocabulary, as(b[3]), vocabulary, 1, as(b[0]), hidden, 1, as(b[5]));
}

// One parameter's reduction, squared norm of its logical gradient, and momentum step.
// `reduces`: the gradient is of this rank's samples alone.
double updateParameter(ppcrt_rank *rank, float *value, float *gradient, float *momentum, int count, bool cut,
                       float rate, bool reduces = true) {
  if (reduces)
    ppcrt_all_reduce(rank, Dp, gradient, count, PPCRT_F32, PPCRT_SUM);
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    squares += double(gradient[i]) * gradient[i];
    momentum[i] = 0.9f * momentum[i] + gradient[i];
    value[i] -= rate * momentum[i];
  }
  if (cut)
    ppcrt_all_reduce(rank, Tp, &squares, 1, PPCRT_F64, PPCRT_SUM);
  return squares;
}

void finishUpdate(ppcrt_rank *rank, void **b, double squares) {
  float loss = *as(b[1]);
  ppcrt_all_reduce(rank, Dp, &loss, 1, PPCRT_F32, PPCRT_SUM);
  ppcrt_all_reduce(rank, Pp, &loss, 1, PPCRT_F32, PPCRT_SUM);
  ppcrt_all_reduce(rank, Pp, &squares, 1, PPCRT_F64, PPCRT_SUM);
  *as(b[2]) = loss;
  *as(b[3]) = float(std::sqrt(squares));
}

int embeddingSize() { return layout.block() * hidden; }
constexpr int headSize = vocabulary * hidden;

const ppcrt_entry oneStage[] = {
    {"stage0.forward",
     [](ppcrt_rank *rank, void **b) {
       embed(rank, as(b[0]), as<int32_t>(b[1]), as(b[6]));
       lossForward(rank, b + 2);
     }},
    {"stage0.backward",
     [](ppcrt_rank *rank, void **b) {
       lossBackward(rank, b + 2);
       embedGradient(rank, as(b[0]), as<int32_t>(b[1]), as(b[7]));
     }},
    {"stage0.update",
     [](ppcrt_rank *rank, void **b) {
       double squares = updateParameter(rank, as(b[4]), as(b[6]), as(b[8]), embeddingSize(), true, *as(b[0]));
       squares += updateParameter(rank, as(b[5]), as(b[7]), as(b[9]), headSize, false, *as(b[0]));
       finishUpdate(rank, b, squares);
     }},
    // For actions that reduce gradients: a completion event signals the last addition to the head's gradient.
    {"stage0.backward.early",
     [](ppcrt_rank *rank, void **b) {
       lossBackward(rank, b + 2);
       ppcrt_reach(rank, 0);
       embedGradient(rank, as(b[0]), as<int32_t>(b[1]), as(b[7]));
     }},
    {"stage0.update.reduced",
     [](ppcrt_rank *rank, void **b) {
       double squares = updateParameter(rank, as(b[4]), as(b[6]), as(b[8]), embeddingSize(), true, *as(b[0]), false);
       squares += updateParameter(rank, as(b[5]), as(b[7]), as(b[9]), headSize, false, *as(b[0]), false);
       finishUpdate(rank, b, squares);
     }},
};

const ppcrt_entry twoStages[] = {
    {"stage0.forward", [](ppcrt_rank *rank, void **b) { embed(rank, as(b[0]), as<int32_t>(b[1]), as(b[2])); }},
    {"stage0.backward", [](ppcrt_rank *rank, void **b) { embedGradient(rank, as(b[0]), as<int32_t>(b[1]), as(b[3])); }},
    {"stage0.update",
     [](ppcrt_rank *rank, void **b) {
       finishUpdate(rank, b, updateParameter(rank, as(b[4]), as(b[5]), as(b[6]), embeddingSize(), true, *as(b[0])));
     }},
    {"stage1.forward", lossForward},
    {"stage1.backward", lossBackward},
    {"stage1.update",
     [](ppcrt_rank *rank, void **b) {
       finishUpdate(rank, b, updateParameter(rank, as(b[4]), as(b[5]), as(b[6]), headSize, false, *as(b[0])));
     }},
};

} // namespace

std::string bigramManifest(int pp, int dp, int tp) {
  layout = {pp, dp, tp};
  json manifest = {
      {"format", 4},
      {"abi", PPCRT_ABI_VERSION},
      {"model", "bigram"},
      {"plan", "schedule: gpipe\n"},
      {"axes", {{{"name", "pp"}, {"size", pp}}, {{"name", "dp"}, {"size", dp}}, {{"name", "tp"}, {"size", tp}}}},
      {"groups", {{{"axes", {"tp"}}}, {{"axes", {"dp"}}}, {{"axes", {"pp"}}}}},
      {"sequence_length", sequenceLength},
      {"global_batch", globalBatch},
      {"micro_batches", microBatches},
      {"vocabulary", vocabulary},
      {"flops_per_token", 6.0 * vocabulary * hidden},
      {"schedule", "gpipe"}};
  for (const char *name : {"E", "W"})
    manifest["parameters"].push_back({{"name", name},
                                      {"type", "f32"},
                                      {"shape", {vocabulary, hidden}},
                                      {"init", {{"kind", "normal"}, {"std", 0.1}}}});
  for (int stage = 0; stage < pp; ++stage)
    manifest["devices"].push_back(buildDevice(stage));
  return manifest.dump();
}

const ppcrt_program &bigramProgram(const std::string &text) {
  static std::string manifest;
  static ppcrt_program program;
  int pp = 1, dp = 1, tp = 1;
  std::sscanf(text.c_str(), "%d,%d,%d", &pp, &dp, &tp);
  manifest = bigramManifest(pp, dp, tp);
  program = {PPCRT_ABI_VERSION,
             manifest.data(),
             manifest.size(),
             pp == 1 ? oneStage : twoStages,
             pp == 1 ? std::size(oneStage) : std::size(twoStages),
             nullptr,
             0,
             nullptr,
             0};
  return program;
}

} // namespace ppcrt::test
