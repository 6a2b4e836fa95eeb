// One table of facts that files of a target cannot express: comments and errors of the exporters belong to its rows,
// the documentation prints it.
#include "Exporters.h"

#include <cassert>

using namespace mlir::ppc;

namespace {
struct UnsaidPart {
  Unsaid part;
  llvm::StringLiteral title;
  /// One character for each target in the order of ExportTarget: c a comment, e an error, b either, - neither (the file
  /// has it, or the stack does not support it).
  llvm::StringLiteral targets;
};
} // namespace

static constexpr UnsaidPart parts[unsaidCount] = {
    {Unsaid::Architecture, "a model, or a part of one, that it does not have", "eeec--e"},
    {Unsaid::ModelFacts, "sizes and router of the model (they stand elsewhere)", "-ccccc-"},
    {Unsaid::UnknownFacts, "what a model in MLIR does not say (base of positions, epsilon, router)", "c-----c"},
    {Unsaid::Positions, "some scaling of positions", "c-----c"},
    {Unsaid::EmbeddingFactor, "a factor on the embedding", "c------"},
    {Unsaid::Activation, "ReLU", "c------"},
    {Unsaid::Router, "how some routers weigh and balance", "c-----c"},
    {Unsaid::PredictionLayers, "prediction layers", "--cccc-"},
    {Unsaid::Data, "data, tokenizer, learning rate, length of training", "ccccccc"},
    {Unsaid::DataParallelism, "data parallelism (the remaining ranks)", "cc-----"},
    {Unsaid::Batches, "micro-batches, sequence length (the training script's)", "----cc-"},
    {Unsaid::Processes, "how many processes, or where", "----cc-"},
    {Unsaid::ZeroTwo, "ZeRO-2 (parameters are kept from forward to backward)", "--cc-c-"},
    {Unsaid::Recompute, "recomputation (by its own rule, or a call in the script)", "--cccc-"},
    {Unsaid::Context, "context parallelism (a call in the script)", "----c--"},
    {Unsaid::Stages, "layers of each stage (it partitions them itself)", "------c"},
    {Unsaid::Groups, "device type of each stage", "cccc--c"},
    {Unsaid::Attention, "kernel of attention", "--ccccc"},
    {Unsaid::WideProducts, "matmuls in f32 or tf32", "cecccc-"},
    {Unsaid::NarrowProducts, "which matmuls run in 8 or 4 bits", "--bb-c-"},
    {Unsaid::Tuning, "fine-tuning (errors: adapters)", "bccbccb"},
};

static char letterOf(ExportTarget target, Unsaid part) {
  assert(parts[int(part)].part == part && "rows are in the order of the parts");
  return parts[int(part)].targets[size_t(target)];
}

bool mlir::ppc::commentsOn(ExportTarget target, Unsaid part) {
  return letterOf(target, part) == 'c' || letterOf(target, part) == 'b';
}

bool mlir::ppc::refuses(ExportTarget target, Unsaid part) {
  return letterOf(target, part) == 'e' || letterOf(target, part) == 'b';
}

void mlir::ppc::printUnsaid(llvm::raw_ostream &out) {
  out << "| what |";
  for (int i = 0; i < exportTargetCount; ++i)
    out << " `" << toString(ExportTarget(i)) << "` |";
  out << "\n|---|";
  for (int i = 0; i < exportTargetCount; ++i)
    out << "---|";
  for (const UnsaidPart &part : parts) {
    out << "\n| " << part.title << " |";
    for (int i = 0; i < exportTargetCount; ++i) {
      bool comments = commentsOn(ExportTarget(i), part.part), errors = refuses(ExportTarget(i), part.part);
      out << (errors && comments ? " error, comment |" : errors ? " error |" : comments ? " comment |" : " |");
    }
  }
  out << '\n';
}

void ExportNotes::comment(Unsaid part, const llvm::Twine &sentence) {
  assert(commentsOn(target, part) && "a comment that the table does not list");
  parts.push_back(part);
  sentences.push_back(sentence.str());
}

llvm::Error ExportNotes::refuse(Unsaid part, const llvm::Twine &message) const {
  assert(refuses(target, part) && "an error that the table does not list");
  (void)part;
  return llvm::createStringError(message.str());
}
