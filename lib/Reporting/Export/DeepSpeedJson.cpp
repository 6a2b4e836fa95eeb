// DeepSpeed's JSON: names as in its configuration page and its parser (0.19.8).
#include "Exporters.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir::ppc;
namespace json = llvm::json;

llvm::Expected<std::string> mlir::ppc::deepSpeedJson(const ExportInput &input, ExportNotes &notes) {
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
    notes.comment(
        Unsaid::Context,
        "attention over " + std::to_string(layout.cp) +
            " ranks of a sequence needs UlyssesSPAttentionHF.register_with_transformers before the model is built");
  }
  noteScriptedRecompute(layout, notes);
  notes.comment(Unsaid::Processes, llvm::formatv("start {0} processes", layout.devices()).str());
  notes.comment(Unsaid::Data,
                "data, tokenizer, optimizer, learning rate and length of training are not part of a plan");
  notes.comment(Unsaid::Batches, "sequences of " + llvm::Twine(input.job.sequence) + " tokens are set with the data");
  noteLoadedModel(input.model, notes);
  noteAttention(layout, "attn_implementation of from_pretrained", notes);
  noteWideProducts(layout, notes);
  json::Array sentences;
  for (const std::string &sentence : notes.sentences)
    sentences.push_back(sentence);
  root["ppc_notes"] =
      json::Object{{"plan", input.model.name + ", " + toString(layout)}, {"not_said_here", std::move(sentences)}};
  return llvm::formatv("{0:2}\n", json::Value(std::move(root))).str();
}
