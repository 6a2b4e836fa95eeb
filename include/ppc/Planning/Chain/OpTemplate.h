// Folded templates: the ops of one layer as plain data, so that a model of 1,000 layers is searched as the few kinds of
// layers that it has. Extracted from IR by ppc/Analysis/TemplateExtraction.h; searched by TemplateSearch.
#ifndef PPC_PLANNING_CHAIN_OPTEMPLATE_H
#define PPC_PLANNING_CHAIN_OPTEMPLATE_H

#include "ppc/Sharding/Layout.h"
#include "ppc/Sharding/ShardingRule.h"

namespace mlir::ppc {

/// One loop of an op, and the ways in which a plan may shard it.
struct TemplateFactor : Factor {
  bool isData = false; // cutDimension has sharded it: its data-parallel part is done
  /// Plans may shard it, programs that PPC partitions cannot yet (angles of positions).
  bool plannedOnly = false;
};

/// Per dimension of a tensor the factor that walks it; -1 if none does (such a dimension is never sharded).
using DimFactors = std::vector<int>;

enum class TemplateValueKind {
  Computed, // by an op of the template
  Boundary, // arrives from the template before
  Input,    // input of the model: token ids, targets, data
  Parameter,
};

struct TemplateValue {
  std::string name;
  TemplateValueKind kind = TemplateValueKind::Computed;
  std::vector<int64_t> shape;
  int64_t elementBytes = 2;
  bool hasGradient = true; // a gradient flows back through it
  int shared = -1; // parameters used by several templates (tied embeddings): number in the chain; -1: by this one only
  int sharers = 1; // layers that use a shared parameter; each is charged its part of state and optimizer

  double elements() const;
};

/// Cost model of an op.
enum class TemplateKernel {
  None,    // takes no time (reshapes, constants)
  Product, // gemmTime: loops in both operands and the result are batches, in one operand and the result rows or columns
  Attention, // fused attention over `attention`
  Stream,    // the memory traffic of its operands and results
};

/// Roles of the factors of a fused attention; -1 if it lacks one.
struct AttentionFactors {
  int batch = -1, queries = -1, kvHeads = -1, group = -1, headDim = -1, keys = -1;
  bool causal = true;
  int valueDim = -1;  // without it values are as wide as keys
  int64_t window = 0; // keys that a query sees; 0: all
};

struct TemplateOp {
  std::string name;
  TemplateKernel kernel = TemplateKernel::Stream;
  std::vector<TemplateFactor> factors;
  std::vector<DimFactors> operandFactors, resultFactors;
  std::vector<int> operands, results; // values of the template
  std::vector<int> linearOperands;    // linear in all of these together: partial sums may pass through the op
  std::vector<bool> savedOperands;    // per operand: saved for backward
  std::vector<bool> savedResults;     // per result
  AttentionFactors attention;
  /// Programs that PPC partitions shard it like the producer of its first operand: it is a part of an op of the
  /// program.
  bool followsOperand = false;
};

/// One layer. Ops are in program order: an op comes after those that compute its operands.
struct OpTemplate {
  std::string name;
  std::vector<TemplateValue> values;
  std::vector<TemplateOp> ops;
  std::vector<int> inputs, outputs; // Boundary values, and the inputs of the next template, in order

  /// Errors: a number out of range, a factor whose size differs from its dimension, an operand used before it is
  /// computed.
  llvm::Error verify() const;
  /// Equal for templates that cost the same in every layout: everything but the names of values and of the template.
  std::string fingerprint() const;
};

/// The model: templates in the order that values flow, each `count` times in a row.
struct TemplateChain {
  struct Segment {
    int index = 0; // index of the template
    int64_t count = 1;
  };
  std::vector<OpTemplate> templates;
  std::vector<Segment> segments;
  int sharedParameters = 0;

  int64_t layerCount() const;
  /// Errors of the templates; boundaries whose number, shapes or element sizes do not fit together.
  llvm::Error verify() const;
};

/// Folds a list of layers: equal fingerprints share one template, runs of one template share one segment.
TemplateChain foldLayers(std::vector<OpTemplate> layers);

/// Shards dimension `dim` of value `value`, in every value and op that it reaches through factors, to ceil(size /
/// parts), the extent on each of `parts` data-parallel ranks. Boundaries are followed from template to template.
void cutDimension(TemplateChain &chain, int templateIndex, int value, int dim, int64_t parts);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_OPTEMPLATE_H
