// ppc-verify-stages: the programs of all stages, against each other.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include <map>
#include <set>

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYSTAGESPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

struct VerifyStagesPass : impl::VerifyStagesPassBase<VerifyStagesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto attribute = getOperation()->getAttrOfType<ArrayAttr>("ppc.stages");
    if (!attribute) {
      getOperation().emitError("has no ppc.stages: run ppc-split-stages first");
      return signalPassFailure();
    }
    stages = llvm::to_vector(attribute.getAsRange<DictionaryAttr>());
    bool valid = true;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      valid &= succeeded(verifyFunctions(stage)) && succeeded(verifyActions(stage)) && succeeded(verifyEvaluation(stage));
    valid = valid && succeeded(verifyMessages()) && succeeded(verifyCollectives("update")) && succeeded(verifyCollectives("evaluate"));
    if (!valid)
      signalPassFailure();
  }

private:
  static int64_t integer(DictionaryAttr fields, StringRef key) { return fields.getAs<IntegerAttr>(key).getInt(); }
  InFlightDiagnostic fail(size_t stage) { return getOperation().emitError() << "stage " << stage << ": "; }

  /// The type of a buffer, null when there is no such buffer.
  Type bufferType(size_t stage, int64_t buffer) {
    auto buffers = stages[stage].getAs<ArrayAttr>("buffers");
    if (buffer < 0 || buffer >= int64_t(buffers.size()))
      return {};
    return cast<DictionaryAttr>(buffers[buffer]).getAs<TypeAttr>("type").getValue();
  }

  func::FuncOp function(size_t stage, StringRef action) {
    auto entry = stages[stage].getAs<DictionaryAttr>("functions").getAs<DictionaryAttr>(action);
    return entry ? getOperation().lookupSymbol<func::FuncOp>(entry.getAs<StringAttr>("entry").getValue()) : func::FuncOp();
  }

  // C1
  LogicalResult verifyFunctions(size_t stage) {
    for (NamedAttribute entry : stages[stage].getAs<DictionaryAttr>("functions")) {
      func::FuncOp action = function(stage, entry.getName());
      if (!action)
        return fail(stage) << "its " << entry.getName() << " names a function that the module does not have";
      auto check = [&](StringRef what, unsigned number, Type type, Attribute buffer) -> LogicalResult {
        auto index = dyn_cast_or_null<IntegerAttr>(buffer);
        if (!index)
          return action.emitOpError() << what << " " << number << " has no ppc.buffer";
        if (Type expected = bufferType(stage, index.getInt()); expected != type)
          return action.emitOpError() << what << " " << number << " of type " << type << " is bound to buffer " << index.getInt()
                                      << " of stage " << stage << (expected ? ", which is " : ", which does not exist") << expected;
        return success();
      };
      for (auto [number, type] : llvm::enumerate(action.getArgumentTypes()))
        if (failed(check("argument", number, type, action.getArgAttr(number, "ppc.buffer"))))
          return failure();
      std::set<int64_t> written;
      for (auto [number, type] : llvm::enumerate(action.getResultTypes())) {
        if (failed(check("result", number, type, action.getResultAttr(number, "ppc.buffer"))))
          return failure();
        int64_t buffer = action.getResultAttrOfType<IntegerAttr>(number, "ppc.buffer").getInt();
        if (!written.insert(buffer).second)
          return action.emitOpError() << "writes buffer " << buffer << " twice";
      }
    }
    return success();
  }

  // C2
  LogicalResult verifyActions(size_t stage) {
    auto actions = stages[stage].getAs<ArrayAttr>("actions");
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!actions || !plan)
      return fail(stage) << "has no " << (plan ? "actions: run ppc-apply-schedule first" : "plan");
    std::map<std::string, std::set<int64_t>> done; // what was done (with the tag of a message), and for which micro-batches
    for (auto action : actions.getAsRange<DictionaryAttr>()) {
      std::string what = action.getAs<StringAttr>("do").str();
      if (action.contains("tag"))
        what += " " + std::to_string(integer(action, "tag"));
      if (!done[what].insert(integer(action, "micro_batch")).second)
        return fail(stage) << "does '" << what << "' twice for micro-batch " << integer(action, "micro_batch");
    }
    for (StringRef name : {"forward", "backward", "weight_gradient"})
      if (function(stage, name))
        done[name.str()];
    for (auto &[what, microBatches] : done)
      if (int64_t(microBatches.size()) != plan.getMicroBatches())
        return fail(stage) << "does '" << what << "' for " << microBatches.size() << " of " << plan.getMicroBatches()
                           << " micro-batches";
    return success();
  }

  // C3
  LogicalResult verifyMessages() {
    struct End {
      size_t stage;
      int64_t peer, buffer;
    };
    std::map<int64_t, End> sends, receives;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      for (auto [list, ends] : {std::pair("sends", &sends), std::pair("receives", &receives)})
        for (auto message : stages[stage].getAs<ArrayAttr>(list).getAsRange<DictionaryAttr>())
          if (!ends->try_emplace(integer(message, "tag"), End{stage, integer(message, "stage"), integer(message, "buffer")}).second)
            return fail(stage) << "has a second message with tag " << integer(message, "tag") << " among its " << list;
    for (auto &[tag, send] : sends) {
      auto receive = receives.find(tag);
      if (receive == receives.end() || int64_t(receive->second.stage) != send.peer || receive->second.peer != int64_t(send.stage))
        return fail(send.stage) << "sends message " << tag << " to stage " << send.peer << ", which does not receive it from there";
      Type from = bufferType(send.stage, send.buffer), to = bufferType(send.peer, receive->second.buffer);
      if (!from || from != to)
        return fail(send.stage) << "sends message " << tag << " as " << from << " and stage " << send.peer << " receives it as " << to;
      receives.erase(receive);
    }
    if (!receives.empty())
      return fail(receives.begin()->second.stage) << "receives message " << receives.begin()->first << ", which nobody sends";
    return success();
  }

  // C4: every stage that takes part in all-reduces between stages does so in one order.
  LogicalResult verifyCollectives(StringRef action) {
    SmallVector<SmallVector<AllReduceOp>> all(stages.size());
    for (size_t stage = 0; stage < stages.size(); ++stage)
      if (func::FuncOp last = function(stage, action))
        last.walk([&](AllReduceOp op) {
          if (llvm::is_contained(axisNames(op.getAxes()), "pp"))
            all[stage].push_back(op);
        });
    auto members = [&](AllReduceOp op) {
      SmallVector<int64_t> result = llvm::to_vector(llvm::seq<int64_t>(stages.size()));
      if (op.getStages())
        result.assign(op.getStages()->begin(), op.getStages()->end());
      return result;
    };
    for (size_t stage = 0; stage < stages.size(); ++stage)
      for (size_t peer = 0; peer < stages.size(); ++peer) {
        // What the two do together must be the same list on both.
        auto together = [&](size_t self, size_t other) {
          SmallVector<AllReduceOp> list;
          for (AllReduceOp op : all[self])
            if (llvm::is_contained(members(op), int64_t(other)))
              list.push_back(op);
          return list;
        };
        SmallVector<AllReduceOp> mine = together(stage, peer), theirs = together(peer, stage);
        for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i)
          if (i >= mine.size() || i >= theirs.size() || mine[i].getType() != theirs[i].getType() ||
              mine[i]->getAttr("ppc.channel") != theirs[i]->getAttr("ppc.channel") || members(mine[i]) != members(theirs[i]))
            return fail(stage) << "and stage " << peer << " disagree on their all-reduce " << i << " over \"pp\"";
      }
    return success();
  }

  // C5: what evaluate reads is there when forward alone has run.
  LogicalResult verifyEvaluation(size_t stage) {
    func::FuncOp evaluate = function(stage, "evaluate"), forward = function(stage, "forward");
    for (unsigned number = 0; evaluate && number < evaluate.getNumArguments(); ++number) {
      Attribute buffer = evaluate.getArgAttr(number, "ppc.buffer");
      auto isWritten = [&](unsigned result) { return forward.getResultAttr(result, "ppc.buffer") == buffer; };
      if (!forward || !llvm::any_of(llvm::seq(forward.getNumResults()), isWritten))
        return evaluate.emitOpError() << "argument " << number << " is bound to buffer " << buffer << ", which forward does not write";
    }
    return success();
  }

  SmallVector<DictionaryAttr> stages;
};

} // namespace
} // namespace mlir::ppc
