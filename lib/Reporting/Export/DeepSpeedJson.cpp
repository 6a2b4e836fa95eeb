// DeepSpeed's JSON: names as in its configuration page and its parser (0.19.8).
#include "Exporters.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir::ppc;
namespace json = llvm::json;

llvm::Expected<std::string> mlir::ppc::deepSpeedJson(const ExportInput &input, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  json::Object zero{{"stage", layout.zero}, {"overlap_comm", true}, {"contiguous_gradients", true}};
  if (layout.offload == Offload::Optimizer)
    zero["offload_optimizer"] = json::Object{{"device", "cpu"}, {"pin_memory", true}};
  json::Object root{{"train_batch_size", input.job.globalBatch},
                    {"train_micro_batch_size_per_gpu", layout.microBatch},
                    {"gradient_accumulation_steps", layout.microBatches(input.job)},
                    {"gradient_clipping", 1.0},
                    {"zero_optimization", std::move(zero)},
                    {"data_types", json::Object{{"grad_accum_dtype", "fp32"}}}};
  if (layout.precision == Precision::Fp16)
    root["fp16"] = json::Object{{"enabled", true}};
  else if (layout.precision == Precision::Bf16)
    root["bf16"] = json::Object{{"enabled", true}};
  if (layout.tp > 1)
    root["tensor_parallel"] = json::Object{{"autotp_size", layout.tp}};
  if (layout.cp > 1) {
    root["sequence_parallel_size"] = layout.cp;
    comments.push_back(
        "attention over " + std::to_string(layout.cp) +
        " ranks of a sequence needs UlyssesSPAttentionHF.register_with_transformers before the model is built");
  }
  if (layout.recompute == Recompute::Full)
    comments.push_back(
        layout.recomputedLayers < 0
            ? "every layer is recomputed: model.gradient_checkpointing_enable(), which is no part of this file"
            : "some layers are recomputed, which is no part of this file");
  comments.push_back(llvm::formatv("start {0} processes", layout.devices()).str());
  comments.push_back("optimizer, learning rate, data and length of training are no part of a plan");
  json::Array notes;
  for (const std::string &comment : comments)
    notes.push_back(comment);
  root["ppc_notes"] =
      json::Object{{"plan", input.model.name + ", " + toString(layout)}, {"not_said_here", std::move(notes)}};
  return llvm::formatv("{0:2}\n", json::Value(std::move(root))).str();
}
