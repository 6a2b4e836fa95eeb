#include "ActionTokens.h"

namespace mlir::ppc {

using namespace ppcrt;

void ActionTokens::write(Block &actions) {
  DenseMap<Attribute, std::pair<int64_t, Clock>> streams; // by stream: the next index, and the clock before it
  for (Operation &op : actions) {
    Attribute stream = cast<ActionOpInterface>(op).getStreamAttr();
    auto [place, ended] = streams[stream]; // a copy
    auto found = needs.find(&op);
    if (found != needs.end()) {
      // The latest first: actions that it waits for have completed with it.
      llvm::sort(found->second, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
      for (Operation *before : found->second) {
        const Known &other = known.find(before)->second;
        if (ended.try_emplace(other.stream, -1).first->second >= other.place)
          continue;
        op.insertOperands(op.getNumOperands(), before->getResults().back());
        for (auto [line, reached] : other.ended) {
          int64_t &own = ended.try_emplace(line, -1).first->second;
          own = std::max(own, reached);
        }
      }
    }
    ended[stream] = place;
    known[&op] = {stream, place, ended};
    streams[stream] = {place + 1, std::move(ended)};
  }
}

FlatSymbolRefAttr getStream(DeviceOp device, StringRef name) {
  Block &parts = device.getBody().front();
  if (llvm::none_of(parts.getOps<StreamOp>(), [&](StreamOp op) { return op.getSymName() == name; })) {
    OpBuilder builder = OpBuilder::atBlockBegin(&parts);
    StreamOp::create(builder, device.getLoc(), name);
  }
  return FlatSymbolRefAttr::get(device.getContext(), name);
}

std::pair<Operation *, Operation *> copyAt(OpBuilder &at, ArrayRef<BufferOp> from, ArrayRef<BufferOp> to,
                                           IntegerAttr microBatch, FlatSymbolRefAttr stream) {
  Operation *first = nullptr, *last = nullptr;
  for (auto [source, target] : llvm::zip_equal(from, to)) {
    last = CopyOp::create(at, BufferOp(source).getLoc(), TypeRange{TokenType::get(at.getContext())},
                          FlatSymbolRefAttr::get(BufferOp(source).getSymNameAttr()),
                          FlatSymbolRefAttr::get(BufferOp(target).getSymNameAttr()), microBatch, ValueRange(), stream);
    first = first ? first : last;
  }
  return {first, last};
}

} // namespace mlir::ppc
