#include "ppc/Reporting/ModelDescription.h"

#include "ppc/CostModel/StageCost.h"
#include "ppc/Reporting/TextTable.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir::ppc;

double ModelDescription::deviceHours() const {
  if (!budget || budget->mfu <= 0 || budget->peak.value <= 0)
    return 0;
  return modelFlops() / (budget->mfu * budget->peak.value) / 3600;
}

static LayerActivations activationsOf(llvm::StringRef kind, int64_t count, const LayerProgram &program) {
  LayerActivations result;
  result.kind = kind.str();
  result.count = count;
  result.parameters = program.parameters + program.expertParameters;
  result.none = program.saved();
  result.selective = program.savedSelective();
  result.full = program.input;
  return result;
}

ModelDescription mlir::ppc::describeModel(const PricingContext &context) {
  ModelDescription result;
  const ModelShape &model = context.model;
  result.model = model;
  result.job = context.job;
  result.layout = context.layout;
  result.parameters = countParameters(model);
  result.flopsPerToken = modelFlopsPerToken(model, context.job.sequence);
  result.forward = forwardFlopsPerToken(model, context.job.sequence, /*causal=*/true);
  double total = double(result.parameters.total);
  bool mixed = context.layout.precision != Precision::F32;
  result.weights = Bytes(total * (mixed ? 2 : 4));
  result.gradients = Bytes(total * context.stack.gradientBytes);
  result.master = Bytes(mixed ? total * context.stack.masterBytes : 0);
  result.moments = Bytes(total * context.stack.momentBytes);

  std::map<LayerKind, std::pair<int64_t, int64_t>> kinds; // first layer, how many
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ++kinds.try_emplace(layerKind(model, layer), layer, 0).first->second.second;
  result.activations.push_back(activationsOf("embedding", 1, buildEmbedding(context)));
  for (auto &[kind, layers] : kinds)
    result.activations.push_back(
        activationsOf(layerKindName(int(kind)).str(), layers.second, buildLayer(context, layers.first)));
  result.activations.push_back(activationsOf("head and loss", 1, buildHead(context)));
  for (LayerActivations &ends : {std::ref(result.activations.front()), std::ref(result.activations.back())})
    ends.selective = ends.full = ends.none; // only layers are recomputed
  return result;
}

static std::vector<std::pair<llvm::StringRef, int64_t>> partsOf(const ParameterCounts &counts) {
  return {{"embedding", counts.embedding},
          {"attention", counts.attention},
          {"feed-forward", counts.denseFfn},
          {"experts", counts.experts},
          {"shared experts", counts.sharedExperts},
          {"router", counts.router},
          {"norms", counts.norms},
          {"output head", counts.head}};
}

static std::string degreesText(const ParallelLayout &layout) {
  std::string text;
  for (auto [name, value] : {std::pair("tp", layout.tp), std::pair("cp", layout.cp), std::pair("ep", layout.ep)})
    if (value > 1)
      text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : ", ", name, value);
  if (layout.sequenceParallel)
    text += text.empty() ? "sp" : ", sp";
  return text.empty() ? "no tensor or context parallelism" : text;
}

static void printSizes(const ModelShape &model, llvm::raw_ostream &out) {
  out << model.layers << " layers, hidden " << model.hidden << ", " << model.heads << " heads";
  if (model.kvHeads != model.heads && !model.latent)
    out << " (" << model.kvHeads << " of keys and values)";
  if (model.latent)
    out << " (latent attention, rank " << model.latent.keyValueRank << ")";
  out << ", feed-forward " << model.ffn << (model.gated ? " gated" : "") << ", vocabulary " << model.vocab
      << (model.tiedEmbeddings ? " (tied)" : "") << '\n';
  if (model.moe)
    out << "experts: " << model.moe.experts << " of width " << model.moe.ffn << ", " << model.moe.topK << " per token"
        << (model.moe.sharedFfn ? llvm::formatv(", shared of width {0}", model.moe.sharedFfn).str() : "")
        << ", from layer " << model.moe.firstLayer << " on\n";
}

/// "6 N + 12 L H Q T", or the part of it that counts.
static std::string countedText(const ModelDescription &description) {
  const ModelShape &model = description.model;
  if (!countsAllKeys(model, description.job.sequence))
    return "6 M + 12 L H Q K";
  return model.slidingWindow && model.slidingWindow < description.job.sequence ? "6 N + 12 L H Q K"
                                                                               : "6 N + 12 L H Q T";
}

static void printFlops(const ModelDescription &description, llvm::raw_ostream &out) {
  const ModelShape &model = description.model;
  double widths = double(model.queryHeadDim() + model.valueHeadDim()) * double(model.heads * model.layers);
  double keys = attentionFlopsPerToken(model, description.job.sequence) / (6 * widths);
  const bool isWhole = keys == double(description.job.sequence);
  out << "\nFLOPs per token, forward and backward, sequence of " << description.job.sequence << " tokens\n"
      << "  " << countedText(description) << " = 6 x " << countText((description.flopsPerToken - 6 * widths * keys) / 6)
      << " + 12 x " << model.layers << " x " << model.heads << " x "
      << fixedText(0.5 * double(model.queryHeadDim() + model.valueHeadDim()), 0) << " x " << fixedText(keys, 0) << " = "
      << flopsText(description.flopsPerToken) << '\n';
  if (!countsAllKeys(model, description.job.sequence))
    out << "  M: parameters that a token is multiplied with; K: keys that a query sees. All parameters and all keys "
           "would "
           "be over a fifth more\n";
  else if (!isWhole)
    out << "  K: keys of a layer's window, on average over the layers\n";
  const TokenFlops &forward = description.forward;
  out << "  multiplied in forward: layers " << flopsText(forward.layerProducts) << ", attention (causal) "
      << flopsText(forward.attention) << ", head " << flopsText(forward.head) << "; backward is twice as much\n";
}

static void printBudget(const ModelDescription &description, llvm::raw_ostream &out) {
  const TokenBudget &budget = *description.budget;
  double peak = budget.peak.value * budget.devices;
  out << "\nMFU = (" << countedText(description) << ") x tokens/s / (devices x peak FLOP/s)\n"
      << "    = " << flopsText(description.flopsPerToken) << " x tokens/s / (" << fixedText(budget.devices, 0) << " x "
      << flopsText(budget.peak.value) << "/s)\n";
  if (budget.mfu <= 0)
    return;
  double rate = budget.mfu * peak / description.flopsPerToken;
  out << "    = " << percentText(budget.mfu) << (budget.predicted ? " (predicted)" : " (given)") << " at "
      << countText(rate) << " tokens/s\n";
  if (budget.tokens <= 0)
    return;
  double hours = description.deviceHours();
  out << "\n"
      << countText(budget.tokens) << " tokens: " << flopsText(description.modelFlops()) << ", " << groupedText(hours)
      << " device-hours, " << fixedText(hours / budget.devices / 24, 1) << " days on " << fixedText(budget.devices, 0)
      << " devices";
  if (budget.pricePerHour > 0)
    out << ", $" << groupedText(hours * budget.pricePerHour) << " at $" << fixedText(budget.pricePerHour, 2)
        << " per device-hour";
  out << '\n';
}

void mlir::ppc::printDescription(const ModelDescription &description, llvm::raw_ostream &out) {
  const ModelShape &model = description.model;
  const ParameterCounts &counts = description.parameters;
  out << model.name << (model.family.empty() ? "" : " (" + model.family + ")") << '\n';
  printSizes(model, out);

  out << "\nparameters: " << groupedText(double(counts.total)) << " (" << countText(double(counts.total)) << ")";
  if (counts.active != counts.total)
    out << ", " << groupedText(double(counts.active)) << " (" << countText(double(counts.active))
        << ") active per token";
  out << '\n';
  TextTable parts({"part", "parameters", "share"});
  for (auto [name, count] : partsOf(counts))
    if (count)
      parts.row({name.str(), groupedText(double(count)), percentText(double(count) / double(counts.total))});
  parts.print(out, "  ");
  printFlops(description, out);

  Bytes state = description.weights + description.gradients + description.master + description.moments;
  out << "\nstate, whole model: weights " << toString(description.weights) << ", gradients "
      << toString(description.gradients) << ", master weights " << toString(description.master) << ", moments "
      << toString(description.moments) << "; " << toString(state) << " in all ("
      << fixedText(state.value / double(counts.total), 1) << " bytes per parameter)\n";

  out << "\nactivations kept per micro-batch of " << description.layout.microBatch << " x " << description.job.sequence
      << " tokens on a rank, " << degreesText(description.layout) << ", by recomputation\n";
  TextTable activations({"part", "count", "none", "selective", "full"});
  LayerActivations total;
  for (const LayerActivations &part : description.activations) {
    activations.row(
        {part.kind, std::to_string(part.count), toString(part.none), toString(part.selective), toString(part.full)});
    total.none += part.none * double(part.count);
    total.selective += part.selective * double(part.count);
    total.full += part.full * double(part.count);
  }
  activations.row({"whole model", "", toString(total.none), toString(total.selective), toString(total.full)});
  activations.print(out, "  ");
  if (description.budget)
    printBudget(description, out);
}

llvm::json::Value mlir::ppc::toJson(const ModelDescription &description) {
  llvm::json::Object parameters;
  for (auto [name, count] : partsOf(description.parameters))
    parameters[name] = count;
  parameters["total"] = description.parameters.total;
  parameters["active"] = description.parameters.active;
  llvm::json::Array activations;
  for (const LayerActivations &part : description.activations)
    activations.push_back(llvm::json::Object{{"part", part.kind},
                                             {"count", part.count},
                                             {"parameters_per_rank", part.parameters},
                                             {"none_bytes", part.none.value},
                                             {"selective_bytes", part.selective.value},
                                             {"full_bytes", part.full.value}});
  llvm::json::Object result{
      {"model", description.model.name},
      {"sequence_tokens", description.job.sequence},
      {"parameters", std::move(parameters)},
      {"flops_per_token", description.flopsPerToken},
      {"forward_flops_per_token", llvm::json::Object{{"layers", description.forward.layerProducts},
                                                     {"attention", description.forward.attention},
                                                     {"head", description.forward.head}}},
      {"state_bytes", llvm::json::Object{{"weights", description.weights.value},
                                         {"gradients", description.gradients.value},
                                         {"master_weights", description.master.value},
                                         {"moments", description.moments.value}}},
      {"activations_per_micro_batch", std::move(activations)}};
  if (const auto &budget = description.budget) {
    llvm::json::Object object{{"devices", budget->devices}, {"peak_flops_per_device", budget->peak.value}};
    if (budget->mfu > 0) {
      object["mfu"] = budget->mfu;
      object["predicted"] = budget->predicted;
    }
    if (budget->tokens > 0) {
      object["tokens"] = budget->tokens;
      object["flops"] = description.modelFlops();
      object["device_hours"] = description.deviceHours();
      if (budget->pricePerHour > 0)
        object["dollars"] = description.deviceHours() * budget->pricePerHour;
    }
    result["budget"] = std::move(object);
  }
  return result;
}
