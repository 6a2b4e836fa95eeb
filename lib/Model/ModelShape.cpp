#include "ppc/Model/ModelShape.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace mlir::ppc {

namespace {
class ShapeVerifier {
public:
  explicit ShapeVerifier(const ModelShape &model) : model(model) {}

  llvm::Error run() {
    verifySizes();
    verifyAttention();
    verifyExperts();
    verifyTotal();
    if (message.empty())
      return llvm::Error::success();
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  }

private:
  void fail(const llvm::Twine &text) {
    if (message.empty())
      message = ((model.name.empty() ? "model" : model.name) + ": " + text).str();
  }
  void between(llvm::StringRef field, int64_t value, int64_t least) {
    constexpr int64_t largest = int64_t(1) << 31;
    if (value < least || value > largest)
      fail(field + " is " + llvm::Twine(value) + "; expected " + llvm::Twine(least) + " to " + llvm::Twine(largest));
  }
  void divides(llvm::StringRef field, int64_t divisor, llvm::StringRef whole, int64_t value) {
    if (message.empty() && value % divisor)
      fail(field + " " + llvm::Twine(divisor) + " does not divide " + whole + " " + llvm::Twine(value));
  }

  void verifySizes() {
    between("layers", model.layers, 1);
    between("hidden", model.hidden, 1);
    between("heads", model.heads, 1);
    between("kvHeads", model.kvHeads, 1);
    between("vocab", model.vocab, 1);
    between("maxPositions", model.maxPositions, model.position == PositionKind::Learned ? 1 : 0);
    between("slidingWindow", model.slidingWindow, 0);
    between("slidingWindowEvery", model.slidingWindowEvery, 1);
    between("predictionLayers", model.predictionLayers, 0);
    // Models whose every layer has experts may say no width of a dense feed-forward.
    bool allExperts = model.moe && model.moe.firstLayer == 0 && model.moe.every == 1;
    between("ffn", model.ffn, allExperts ? 0 : 1);
    if (!(model.dropout >= 0 && model.dropout < 1))
      fail("dropout is " + llvm::formatv("{0}", model.dropout) + "; expected a probability below 1");
  }

  void verifyAttention() {
    divides("kvHeads", model.kvHeads, "heads", model.heads);
    if (const LatentAttention &latent = model.latent) {
      between("queryRank", latent.queryRank, 0);
      between("keyValueRank", latent.keyValueRank, 1);
      between("nopeHeadDim", latent.nopeHeadDim, 1);
      between("ropeHeadDim", latent.ropeHeadDim, 1);
      between("valueHeadDim", latent.valueHeadDim, 1);
      between("index topK", model.index.topK, 0);
      between("index every", model.index.every, 1);
      if (model.index && (model.index.heads < 1 || model.index.headDim < 1 || !latent.queryRank))
        fail("an index branch has heads, and reads compressed queries");
      if (model.kvHeads != model.heads)
        fail("kvHeads is " + llvm::Twine(model.kvHeads) + "; latent attention has a key for each of the " +
             llvm::Twine(model.heads) + " heads");
      return;
    }
    between("headDim", model.headDim, 1);
    if (!(model.rotaryFraction > 0 && model.rotaryFraction <= 1))
      fail("rotaryFraction is " + llvm::formatv("{0}", model.rotaryFraction) + "; expected more than 0, at most 1");
  }

  void verifyExperts() {
    const ExpertShape &moe = model.moe;
    between("experts", moe.experts, 0);
    if (!moe)
      return;
    between("topK", moe.topK, 1);
    between("expert ffn", moe.ffn, 1);
    between("sharedFfn", moe.sharedFfn, 0);
    between("firstLayer", moe.firstLayer, 0);
    between("every", moe.every, 1);
    between("groups", moe.groups, 1);
    between("groupsPerToken", moe.groupsPerToken, 1);
    if (moe.topK > moe.experts)
      fail("topK is " + llvm::Twine(moe.topK) + "; there are only " + llvm::Twine(moe.experts) + " experts");
    divides("groups", moe.groups, "experts", moe.experts);
    if (moe.groupsPerToken > moe.groups)
      fail("groupsPerToken is " + llvm::Twine(moe.groupsPerToken) + "; there are only " + llvm::Twine(moe.groups) +
           " groups");
    if (message.empty() && moe.topK > moe.groupsPerToken * (moe.experts / moe.groups))
      fail("topK is " + llvm::Twine(moe.topK) + "; " + llvm::Twine(moe.groupsPerToken) + " groups hold only " +
           llvm::Twine(moe.groupsPerToken * (moe.experts / moe.groups)) + " experts");
  }

  /// In doubles: the counts may not fit 64 bits. An upper bound with four projections and three feed-forward matrices.
  void verifyTotal() {
    double width = std::max<double>(model.queryHeadDim(), model.valueHeadDim());
    double attention =
        4.0 * model.hidden * model.heads * width +
        double(model.latent.queryRank + model.latent.keyValueRank) * (model.hidden + 2.0 * model.heads * width);
    double ffn =
        3.0 * model.hidden * (double(model.ffn) + model.moe.experts * double(model.moe.ffn) + model.moe.sharedFfn);
    double total = (double(model.layers) + model.predictionLayers) * (attention + ffn) +
                   double(model.hidden) * (2.0 * model.vocab + model.maxPositions);
    if (total > 0x1p60)
      fail("the model would have more than 2^60 parameters");
  }

  const ModelShape &model;
  std::string message;
};
} // namespace

llvm::Error verifyModelShape(const ModelShape &model) { return ShapeVerifier(model).run(); }

} // namespace mlir::ppc
