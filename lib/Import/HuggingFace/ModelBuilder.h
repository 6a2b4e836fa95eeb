// Builds @loss front to back. Each use of a parameter appends a function argument, so arguments are in Hugging Face's
// order of first use. Families differ in names (ParameterNames) and in what the shape says; the parts are one file
// each.
#ifndef PPC_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H
#define PPC_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H

#include "ppc/Import/HuggingFace.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {

/// How the reference stores the query, key and value projections.
enum class ProjectionLayout {
  Separate,    // q_proj, k_proj, v_proj
  FusedByPart, // one weight [hidden, 3, heads, head_dim], transposed (GPT-2)
  FusedByHead, // one weight [heads, 3, head_dim, hidden] (GPT-NeoX, BLOOM)
};

/// What the reference calls the parts of a model; the layer's number replaces `*`.
struct ParameterNames {
  StringRef embedding, positions, embeddingNorm, layer, attentionNorm, ffnNorm, attention, qkv, output, lastNorm, head;
  StringRef ffn = "mlp", up, down;
  ProjectionLayout layout = ProjectionLayout::Separate;
  bool transposed = false; // weights are [in, out] (GPT-2)
  // Of the files of weights: one tensor of queries, keys and values, and one of gates and what they open (Phi-3).
  StringRef storedQkv, storedGateUp;
  // What the block with experts is called there when not `ffn`, and an expert's projections.
  StringRef storedExperts, expertGate = "gate_proj", expertUp = "up_proj", expertDown = "down_proj";
  // Stacked experts of files may be [experts, in, out].
  bool transposedExperts = false;
  // Names of a layer's norms in older files, when there are others.
  StringRef olderAttentionNorm, olderFfnNorm;
  // Patterns of tensors that files may hold and nobody reads: masks and frequencies that older versions saved.
  SmallVector<StringRef> ignoredTensors = {"*.rotary_emb.inv_freq"};
};
/// By the model_type of the file: that of the family, or another name of it.
const ParameterNames &parameterNames(StringRef modelType);

class ModelBuilder {
public:
  ModelBuilder(const ModelConfig &config, const HuggingFaceOptions &options, MLIRContext &context);
  OwningOpRef<ModuleOp> build();

private:
  struct Dimension {
    StringRef name;
    int64_t extent;
  };

  // ModelBuilder.cpp
  Value embed(Value ids);
  Value decoderLayer(Value x, int64_t index);
  Value lossOf(Value logits, Value targets);
  Value norm(Value x, const std::string &name);
  /// RMSNorm over the last dimension, whatever the model's other norms are.
  Value rmsNorm(Value x, const std::string &name, double epsilon);

  // Attention.cpp
  struct Projections {
    Value q, k, v; // [b, s, k, g, d], [b, s, k, d], [b, s, k, d]
  };
  Value attention(Value x, const std::string &name, int64_t index);
  /// Queries, then keys, then values, as rows of one tensor of the file.
  void storeQkv(const std::string &parameter, const llvm::Twine &tensor, StringRef which);
  Projections separateProjections(Value x, const std::string &name);
  Projections fusedProjections(Value x, const std::string &name);
  Value attend(Projections projections, double scale, int64_t index);
  Value project(Value out, const std::string &name);
  Value rotary(Value x, int64_t offset = 0, bool interleaved = false);
  /// [heads, group] constants of ALiBi.
  Value alibiSlopes();
  // LatentAttention.cpp
  Value latentAttention(Value x, const std::string &name, int64_t index);
  Value carryIndex(const std::string &name);

  // FeedForward.cpp
  Value feedForward(Value x, const std::string &name, int64_t inner);
  Value activate(Value x);
  // Experts.cpp
  Value experts(Value x, const std::string &name);
  Value sharedExperts(Value x, const std::string &name);

  //===---- Arguments ----===//
  /// Files of weights hold a matrix in two dimensions; the first `rowDims` of `dims` are its rows.
  /// `scale`: of the standard deviation that the configuration says. `zeroRow`: begins with zeros.
  Value matrix(const std::string &name, ArrayRef<Dimension> dims, unsigned rowDims = 1, double scale = 1,
               std::optional<int64_t> zeroRow = std::nullopt);
  /// One that no gradient reaches: it does not decay, so that it stays as it is.
  Value frozenMatrix(const std::string &name, ArrayRef<Dimension> dims);
  /// GPT-2 begins with smaller values where a layer adds to the residual stream.
  double residualScale() const;
  Value vector(const std::string &name, ArrayRef<Dimension> dims, InitKind init);
  Value addInput(StringRef name);
  Value addArgument(StringRef role, StringRef name, ArrayRef<Dimension> dims, Type elementType,
                    SmallVector<NamedAttribute> attributes);

  // WeightMap.cpp
  /// Tensors of a file that hold a parameter from element `offset` on; with `count`, "*" in the name is 0, 1, ..., and
  /// each begins `step` elements after the one before.
  Attribute weightPart(const llvm::Twine &tensor, ArrayRef<int64_t> shape, int64_t offset = 0, int64_t count = 0,
                       int64_t step = 0);
  /// A stack of matrices, or of the transposed ones of a stack of `sizes`, if the tensor `companion` has that shape.
  Attribute stackedPart(StringRef tensor, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes, StringRef companion,
                        ArrayRef<int64_t> companionShape);
  /// Of a tensor of `rows` rows of hidden values that holds several parameters: those from row `first` on.
  void storedInRows(const std::string &parameter, const llvm::Twine &tensor, int64_t rows, int64_t first,
                    int64_t count);
  /// One more way in which files store a parameter; the first is how they are written.
  void storedAs(const std::string &parameter, ArrayRef<Attribute> parts);
  void storeExperts(const std::string &name);
  void storeStackedExperts(const std::string &gateUp, const std::string &down);
  /// A norm of a layer under the name that older files have for it too.
  void storeOlderNorm(const std::string &layer, StringRef name, StringRef older);
  /// Keys of the configuration that decide what the weights compute, with their defaults as JSON.
  DictionaryAttr configKeys();
  /// What `ppc.weights` of the module says.
  DictionaryAttr weightMap();

  //===---- Ops ----===//
  /// The module of the reference that the next ops belong to.
  void at(StringRef name) { loc = NameLoc::get(builder.getStringAttr(name)); }
  /// The next ops belong to the next element of the chain of layers.
  void startLayer(StringRef name) {
    ++layer;
    at(name);
  }
  template <typename OpType, typename... Args> OpType create(Args &&...args) {
    auto op = OpType::create(builder, loc, std::forward<Args>(args)...);
    op->setAttr(attr::layer, builder.getI64IntegerAttr(layer));
    return op;
  }
  Value matmul(StringRef spec, Value lhs, Value rhs) { return create<MatmulOp>(spec, lhs, rhs); }
  Value add(Value a, Value b) { return create<AddOp>(a.getType(), a, b); }
  Value mul(Value a, Value b) { return create<MulOp>(a.getType(), a, b); }
  Value reshape(Value x, ArrayRef<int64_t> shape) { return create<ReshapeOp>(withShape(tensorType(x), shape), x); }
  /// x + bias, the bias repeated along the first dimensions of x.
  Value addBias(Value x, Value bias);
  /// `x` repeated along the new dimensions `dims` of `shape`.
  Value repeat(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  SmallVector<Value> split(Value x, int64_t dim, ArrayRef<int64_t> sizes);

  RankedTensorType tensorOf(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); }

  const ModelConfig &config;
  const ModelShape &shape;
  const ParameterNames &names;
  int64_t batch, sequence, capacity;
  OpBuilder builder;
  Location loc;
  std::vector<double> frequencies;
  std::optional<int64_t> paddingRow; // of the embedding, which is not trained; none: there is no such row
  func::FuncOp function;
  SmallVector<DictionaryAttr> argumentAttributes;
  llvm::MapVector<StringAttr, SmallVector<Attribute>> stored; // ways to store a parameter
  SmallVector<Attribute> unrounded; // names of parameters that the reference keeps in f32 where others are narrower
  int64_t layer = -1;               // 0: embedding, 1..L: decoder layers, L + 1: norm, head and loss
};

} // namespace mlir::ppc

#endif // PPC_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H
