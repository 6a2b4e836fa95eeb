// Preparing and running products.
#include "runtime/cuda/Products.h"
#include "runtime/base/Error.h"

#include <algorithm>

namespace ppcrt::cuda {
namespace {

constexpr size_t mostWorkspaceBytes = size_t(32) << 20;

int numberOf(DataType type) { return type == DataType::F64 ? typeF64 : type == DataType::BF16 ? typeBf16 : typeF32; }

int64_t alignmentAt(const CodePlace &place, int64_t arguments) {
  return place.bytes ? std::min(arguments, place.bytes & -place.bytes) : arguments;
}

} // namespace

Products::~Products() {
  if (!blas)
    return;
  for (const Prepared &one : products) {
    for (LayoutHandle *layout : {one.left, one.right, one.out})
      if (layout)
        blas->layoutDestroy(layout);
    if (one.description)
      blas->descriptionDestroy(one.description);
  }
  if (workspace)
    device.free(workspace);
}

int Products::prepare(const MatrixProduct &product, int64_t alignment) {
  std::vector<int64_t> key = product.descriptor;
  for (const CodePlace *place : {&product.a, &product.b, &product.c})
    key.push_back(alignmentAt(*place, alignment));
  const Epilogue *epilogue = product.epilogue ? &*product.epilogue : nullptr;
  size_t c = key.size() - 1;
  Alignments alignments{};
  if (epilogue) {
    const CodePlace &aux = epilogue->hasAt ? epilogue->at : epilogue->sum;
    alignments.addend = epilogue->hasAddend ? alignmentAt(epilogue->addend, alignment) : 0;
    alignments.bias = epilogue->hasBias ? alignmentAt(epilogue->bias, alignment) : 0;
    alignments.aux = epilogue->hasAt || epilogue->hasSum ? alignmentAt(aux, alignment) : 0;
    key.insert(key.end(), {int64_t(epilogue->activation), alignments.addend, alignments.bias, alignments.aux});
  }
  auto [found, isNew] = known.emplace(key, int(products.size()));
  if (!isNew)
    return found->second;
  if (!blas)
    blas = std::make_unique<BlasLt>();
  Prepared &prepared = products.emplace_back();
  prepared.plan = planProduct(product.descriptor);
  if (prepared.plan.isNothing)
    return found->second;
  // Columns of C are rows of D: a bias is added to these.
  if (epilogue && (!prepared.plan.exchanged || prepared.plan.out.rows != product.descriptor[5] ||
                   prepared.plan.batch > 1 || prepared.plan.calls() > 1))
    throw InputError("its results do not lie as an epilogue of cuBLASLt needs them");
  size_t a = c - 2, b = c - 1;
  if (prepared.plan.exchanged)
    std::swap(a, b);
  alignments.left = std::min(key[a], prepared.plan.leftAlignment);
  alignments.right = std::min(key[b], prepared.plan.rightAlignment);
  alignments.out = std::min(key[c], prepared.plan.outAlignment);
  choose(prepared, epilogue, alignments);
  return found->second;
}

void Products::set(const Prepared &prepared, int attribute, const void *value, size_t bytes) const {
  blas->check(blas->descriptionSet(prepared.description, attribute, value, bytes), "cublasLtMatmulDescSetAttribute");
}

// The heuristic reads off the pointers how they are aligned, and nothing at them.
void Products::describe(const Prepared &prepared, const Epilogue &epilogue, const Alignments &alignments) {
  int32_t kind = (epilogue.hasBias ? epilogueBias : 0) | (alignments.aux ? epilogueAux : 0);
  kind |= epilogue.activation == Activation::Gelu           ? epilogueGelu
          : epilogue.activation == Activation::GeluGradient ? epilogueGeluGradient
                                                            : 0;
  kind = kind ? kind : epilogueDefault;
  set(prepared, matmulEpilogue, &kind, sizeof kind);
  if (auto bias = Address(alignments.bias))
    set(prepared, matmulBias, &bias, sizeof bias);
  if (auto aux = Address(alignments.aux)) {
    set(prepared, matmulAux, &aux, sizeof aux);
    set(prepared, matmulAuxLeading, &prepared.plan.out.leading, sizeof prepared.plan.out.leading);
  }
}

LayoutHandle *Products::layout(const ColumnMatrix &matrix, DataType type, int64_t batch) const {
  LayoutHandle *layout = nullptr;
  blas->check(
      blas->layoutCreate(&layout, numberOf(type), uint64_t(matrix.rows), uint64_t(matrix.columns), matrix.leading),
      "cublasLtMatrixLayoutCreate");
  if (batch > 1) {
    auto count = int32_t(batch);
    blas->check(blas->layoutSet(layout, layoutBatchCount, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute");
    blas->check(blas->layoutSet(layout, layoutBatchStride, &matrix.batchStride, sizeof matrix.batchStride),
                "cublasLtMatrixLayoutSetAttribute");
  }
  return layout;
}

// Layouts and the algorithm.
void Products::choose(Prepared &prepared, const Epilogue *epilogue, const Alignments &alignments) {
  const ProductPlan &plan = prepared.plan;
  bool isDouble = plan.type == DataType::F64;
  blas->check(
      blas->descriptionCreate(&prepared.description, isDouble ? computeF64 : computeF32, isDouble ? typeF64 : typeF32),
      "cublasLtMatmulDescCreate");
  for (auto [attribute, transposed] :
       {std::pair(matmulTransA, plan.left.transposed), std::pair(matmulTransB, plan.right.transposed)}) {
    int32_t value = transposed;
    set(prepared, attribute, &value, sizeof value);
  }
  if (epilogue)
    describe(prepared, *epilogue, alignments);
  prepared.left = layout(plan.left, plan.type, plan.batch);
  prepared.right = layout(plan.right, plan.type, plan.batch);
  prepared.out = layout(plan.out, plan.result, plan.batch);
  PreferenceHandle *preference = nullptr;
  blas->check(blas->preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  Status status =
      blas->preferenceSet(preference, preferenceWorkspaceBytes, &mostWorkspaceBytes, sizeof mostWorkspaceBytes);
  for (auto [attribute, alignment] :
       {std::pair(preferenceAlignmentA, alignments.left), std::pair(preferenceAlignmentB, alignments.right),
        std::pair(preferenceAlignmentC, alignments.addend ? alignments.addend : alignments.out),
        std::pair(preferenceAlignmentD, alignments.out)}) {
    auto bytes = uint32_t(alignment);
    status = status ? status : blas->preferenceSet(preference, attribute, &bytes, sizeof bytes);
  }
  MatmulProposal proposal{};
  int found = 0;
  if (status == success)
    status = blas->propose(blas->handle, prepared.description, prepared.left, prepared.right, prepared.out,
                           prepared.out, preference, 1, &proposal, &found);
  blas->preferenceDestroy(preference);
  if (status == blasNotSupported || (status == success && found == 0))
    throw InputError("cuBLASLt has no algorithm for it");
  blas->check(status, "cublasLtMatmulAlgoGetHeuristic");
  prepared.algorithm = proposal.algorithm;
  workspaceBytes = std::max(workspaceBytes, proposal.workspaceBytes);
}

void Products::reserve() {
  if (workspaceBytes)
    workspace = device.allocate(int64_t(workspaceBytes), "cuBLASLt");
}

void Products::multiply(const Prepared &prepared, bool adds, Address left, Address right, Address out) const {
  const float one = 1, zero = 0;
  const double oneDouble = 1, zeroDouble = 0;
  bool isDouble = prepared.plan.type == DataType::F64;
  const void *alpha = &one, *beta = adds ? &one : &zero;
  if (isDouble)
    alpha = &oneDouble, beta = adds ? &oneDouble : &zeroDouble;
  blas->check(blas->matmul(blas->handle, prepared.description, alpha, left, prepared.left, right, prepared.right, beta,
                           prepared.addend ? prepared.addend : out, prepared.out, out, prepared.out,
                           &prepared.algorithm, workspace, workspaceBytes, device.stream),
              "cublasLtMatmul");
}

void Products::runRepeats(const Prepared &prepared, size_t loop, bool adds, Address left, Address right,
                          Address out) const {
  if (loop == prepared.plan.repeats.size())
    return multiply(prepared, adds, left, right, out);
  const ProductPlan::Loop &turns = prepared.plan.repeats[loop];
  for (int64_t turn = 0; turn < turns.size; ++turn)
    runRepeats(prepared, loop + 1, adds, left + Address(turn * turns.left), right + Address(turn * turns.right),
               out + Address(turn * turns.out));
}

void Products::runSums(const Prepared &prepared, size_t loop, bool adds, Address left, Address right,
                       Address out) const {
  if (loop == prepared.plan.sums.size())
    return runRepeats(prepared, 0, adds, left, right, out);
  const ProductPlan::Loop &turns = prepared.plan.sums[loop];
  for (int64_t turn = 0; turn < turns.size; ++turn)
    runSums(prepared, loop + 1, adds || turn > 0, left + Address(turn * turns.left),
            right + Address(turn * turns.right), out);
}

void Products::run(int number, Address a, Address b, Address c, const EpilogueAddresses &epilogue) {
  Prepared &prepared = products[size_t(number)];
  if (prepared.plan.isNothing)
    return;
  if (epilogue.bias)
    set(prepared, matmulBias, &epilogue.bias, sizeof epilogue.bias);
  if (epilogue.aux)
    set(prepared, matmulAux, &epilogue.aux, sizeof epilogue.aux);
  prepared.addend = epilogue.addend;
  if (prepared.plan.exchanged)
    std::swap(a, b);
  runSums(prepared, 0, prepared.plan.accumulates || prepared.addend, a, b, c);
}

} // namespace ppcrt::cuda
