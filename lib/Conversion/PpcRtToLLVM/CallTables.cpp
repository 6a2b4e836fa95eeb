// The functions of a stage as data: each call is the number of a callee and a list of addresses, and one small loop
// makes the calls. Code for them would take longer to generate than all callees together.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"

namespace mlir::ppc {

/// Makes `count` calls. A row of `calls` is: callee, number of operands, and for each the number of a buffer and an
/// offset in bytes. Callees take the rank and the array of their addresses; MOST_OPERANDS is replaced by the maximal
/// number of operands.
static const char kCallLoop[] = R"mlir(
llvm.func internal @ppc_make_calls(%rank: !llvm.ptr, %buffers: !llvm.ptr, %calls: !llvm.ptr, %count: i64, %callees: !llvm.ptr) attributes {no_inline} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant(MOST_OPERANDS : i64) : i64
  %addresses = llvm.alloca %most x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.br ^next(%zero, %calls : i64, !llvm.ptr)
^next(%done: i64, %row: !llvm.ptr):
  %more = llvm.icmp "ult" %done, %count : i64
  llvm.cond_br %more, ^row, ^end
^row:
  %callee = llvm.load %row : !llvm.ptr -> i64
  %at1 = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %operands = llvm.load %at1 : !llvm.ptr -> i64
  %at2 = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.br ^operand(%zero, %at2 : i64, !llvm.ptr)
^operand(%i: i64, %entry: !llvm.ptr):
  %isOperand = llvm.icmp "ult" %i, %operands : i64
  llvm.cond_br %isOperand, ^address, ^call
^address:
  %number = llvm.load %entry : !llvm.ptr -> i64
  %offsetAt = llvm.getelementptr %entry[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %offset = llvm.load %offsetAt : !llvm.ptr -> i64
  %bufferAt = llvm.getelementptr %buffers[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %buffer = llvm.load %bufferAt : !llvm.ptr -> !llvm.ptr
  %address = llvm.getelementptr %buffer[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %addressAt = llvm.getelementptr %addresses[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %address, %addressAt : !llvm.ptr, !llvm.ptr
  %following = llvm.getelementptr %entry[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %i1 = llvm.add %i, %one : i64
  llvm.br ^operand(%i1, %following : i64, !llvm.ptr)
^call:
  %calleeAt = llvm.getelementptr %callees[%callee] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %function = llvm.load %calleeAt : !llvm.ptr -> !llvm.ptr
  llvm.call %function(%rank, %addresses) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> ()
  %done1 = llvm.add %done, %one : i64
  llvm.br ^next(%done1, %entry : i64, !llvm.ptr)
^end:
  llvm.return
}
)mlir";

/// The argument of the function that `value` is a view of, and the offset in bytes.
static std::optional<std::pair<int64_t, int64_t>> placeOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return std::pair(int64_t(argument.getArgNumber()), int64_t(0));
  APInt offset;
  auto view = value.getDefiningOp<memref::ViewOp>();
  auto argument = view ? dyn_cast<BlockArgument>(view.getSource()) : BlockArgument();
  if (!argument || !matchPattern(view.getByteShift(), m_ConstantInt(&offset)))
    return std::nullopt;
  return std::pair(int64_t(argument.getArgNumber()), offset.getSExtValue());
}

LogicalResult CallTables::extract(ModuleOp module) {
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr(ppcrt::kRoutineAttr) || function.isExternal())
      continue;
    auto body = function.front().without_terminator();
    bool isTable = llvm::all_of(
        body, [](Operation &op) { return isa<ppcrt::CallOp, ppcrt::ReachOp, memref::ViewOp, arith::ConstantOp>(op); });
    if (!isTable || llvm::none_of(body, llvm::IsaPred<ppcrt::CallOp, ppcrt::ReachOp>)) // no calls to list
      continue;
    Table &table = tables.emplace_back();
    table.name = function.getSymNameAttr();
    auto addCall = [&](StringAttr body, int64_t operands) {
      ++table.calls;
      bodies.insert(body);
      table.numbers.push_back(llvm::find(bodies, body) - bodies.begin());
      table.numbers.push_back(operands);
    };
    for (Operation &op : function.front()) {
      if (auto reach = dyn_cast<ppcrt::ReachOp>(op)) {
        auto name = StringAttr::get(module.getContext(), "ppc_reach." + Twine(reach.getEntry()));
        reaches[name] = int64_t(reach.getEntry());
        addCall(name, 0);
      }
      auto call = dyn_cast<ppcrt::CallOp>(op);
      if (!call)
        continue;
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (!callee || callee->hasAttr(ppcrt::kRoutineAttr))
        return call.emitOpError() << "calls @" << call.getCallee() << ", which is "
                                  << (callee ? "the code of a routine" : "no function of the module")
                                  << ": routines only call compiled functions";
      addCall(call.getCalleeAttr().getAttr(), call.getNumOperands());
      mostOperands = std::max<int64_t>(mostOperands, call.getNumOperands());
      for (Value operand : call.getOperands()) {
        auto place = placeOf(operand);
        if (!place)
          return call.emitOpError(
              "passes a buffer without a fixed offset in an argument: run ppc-assign-offsets first");
        table.numbers.push_back(place->first);
        table.numbers.push_back(place->second);
      }
    }
    function.erase();
  }
  return success();
}

/// A callee that completes an entry of `early`.
static LLVM::LLVMFuncOp makeReach(ImplicitLocOpBuilder &b, ModuleOp module, StringAttr name, int64_t entry) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), none = LLVM::LLVMVoidType::get(b.getContext());
  b.setInsertionPointToStart(module.getBody());
  auto runtime = module.lookupSymbol<LLVM::LLVMFuncOp>("ppcrt_reach");
  if (!runtime)
    runtime = LLVM::LLVMFuncOp::create(b, "ppcrt_reach", LLVM::LLVMFunctionType::get(none, {pointer, b.getI64Type()}));
  auto function = LLVM::LLVMFuncOp::create(b, name.getValue(), LLVM::LLVMFunctionType::get(none, {pointer, pointer}),
                                           LLVM::Linkage::Internal);
  Block *block = function.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  Value number = LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(entry));
  LLVM::CallOp::create(b, runtime, ValueRange{block->getArgument(0), number});
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

void CallTables::emit(ModuleOp module, function_ref<LLVM::LLVMFuncOp(LLVM::LLVMFuncOp, StringRef)> makeEntry) {
  if (tables.empty())
    return;
  ImplicitLocOpBuilder b(module.getLoc(), module.getBodyRegion());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), none = LLVM::LLVMVoidType::get(b.getContext());
  SymbolTable symbols(module);
  std::string text = kCallLoop;
  StringRef size = "MOST_OPERANDS";
  text.replace(text.find(size), size.size(), std::to_string(std::max<int64_t>(mostOperands, 1)));
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, b.getContext());
  auto loop = *parsed->getOps<LLVM::LLVMFuncOp>().begin();
  loop->moveBefore(&module.getBody()->front());

  SmallVector<LLVM::LLVMFuncOp> entries; // by callee
  for (StringAttr body : bodies)
    entries.push_back(reaches.contains(body)
                          ? makeReach(b, module, body, reaches.lookup(body))
                          : makeEntry(symbols.lookup<LLVM::LLVMFuncOp>(body), (body.getValue() + ".entry").str()));
  b.setInsertionPointToStart(module.getBody());
  Type arrayType = LLVM::LLVMArrayType::get(pointer, entries.size());
  auto list =
      LLVM::GlobalOp::create(b, arrayType, /*isConstant=*/true, LLVM::Linkage::Internal, "ppc_bodies", Attribute());
  b.createBlock(&list.getInitializerRegion());
  Value value = LLVM::UndefOp::create(b, arrayType);
  for (auto [i, entry] : llvm::enumerate(entries))
    value = LLVM::InsertValueOp::create(b, value, LLVM::AddressOfOp::create(b, entry), ArrayRef<int64_t>{int64_t(i)});
  LLVM::ReturnOp::create(b, value);

  for (Table &table : tables) {
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), table.numbers.size());
    auto numbers = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                          (table.name.getValue() + ".calls").str(), b.getI64TensorAttr(table.numbers));
    auto function =
        LLVM::LLVMFuncOp::create(b, table.name.getValue(), LLVM::LLVMFunctionType::get(none, {pointer, pointer}));
    Block *block = function.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    Value count = LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(table.calls));
    LLVM::CallOp::create(b, loop,
                         ValueRange{block->getArgument(0), block->getArgument(1), LLVM::AddressOfOp::create(b, numbers),
                                    count, LLVM::AddressOfOp::create(b, list)});
    LLVM::ReturnOp::create(b, ValueRange());
  }
}

} // namespace mlir::ppc
