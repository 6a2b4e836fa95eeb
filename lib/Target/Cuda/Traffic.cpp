#include "Traffic.h"

#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "ppc/Target/Cuda/Writer/Kernel.h"
#include "ppc/Transforms/Profile/Work.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ppc::cuda {
namespace {

/// Floating-point operations per byte from which on arithmetic may be what limits a kernel: about what the units for
/// f32 of the GPUs that we compile for do in the time of a byte. Loops stay below 3, attention over more than a few
/// dozen tokens is far above.
constexpr int64_t kArithmeticPerByte = 10;

int64_t bytesOf(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// The argument, constant or temporary that a buffer is part of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view) && isa<BlockArgument>(view.getViewSource()))
      break; // a place in the scratch
    buffer = view.getViewSource();
  }
  return buffer;
}

bool isTemporary(Value root) { return root.getDefiningOp<memref::ViewOp>() != nullptr; }

/// What an op does with a buffer; what it does not say, it may do.
struct Access {
  Value root;
  int64_t read = 0, written = 0; // bytes
};

SmallVector<Access> accessesOf(Operation *op) {
  llvm::MapVector<Value, Access> found;
  auto touched = op->getAttrOfType<DenseI64ArrayAttr>(kTouchedBytesAttr);
  auto touchedBytes = [&](Value buffer) {
    auto operand = size_t(llvm::find(op->getOperands(), buffer) - op->operand_begin());
    return touched && touched[operand] >= 0 ? touched[operand] : bytesOf(buffer);
  };
  auto add = [&](Value buffer, bool reads, bool writes) {
    Value root = rootOf(buffer);
    Access &access = found[root];
    access.root = root;
    access.read += reads ? touchedBytes(buffer) : 0;
    access.written += writes ? touchedBytes(buffer) : 0;
  };
  auto memory = dyn_cast<MemoryEffectOpInterface>(op);
  auto idle = op->getAttrOfType<DenseI64ArrayAttr>(kIdleOperandsAttr);
  auto isIdle = [&](Value buffer) {
    return idle && llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
             return operand.value() != buffer || llvm::is_contained(idle.asArrayRef(), int64_t(operand.index()));
           });
  };
  for (Value buffer : llvm::SmallSetVector<Value, 8>(op->operand_begin(), op->operand_end())) {
    if (!isa<MemRefType>(buffer.getType()) || isIdle(buffer))
      continue;
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (memory)
      memory.getEffectsOnValue(buffer, effects);
    auto does = [&](auto isIt) { return !memory || llvm::any_of(effects, isIt); };
    add(buffer, does([](auto &effect) { return isa<MemoryEffects::Read>(effect.getEffect()); }),
        does([](auto &effect) { return isa<MemoryEffects::Write>(effect.getEffect()); }));
  }
  return llvm::map_to_vector(found, [](auto &entry) { return entry.second; });
}

/// What the epilogue of a product moves beside its result: of a bias its part. Its name says what it does.
std::pair<LaunchTraffic, std::string> epilogueOf(ppcrt::EpilogueGemmOp product) {
  LaunchTraffic moved;
  std::string name = "epilogue of";
  for (auto [buffer, what] : {std::pair(product.getAddend(), " addend"), std::pair(product.getAt(), " derivative")})
    if (buffer)
      moved.read += bytesOf(buffer), name += what;
  if (Value bias = product.getBias()) {
    moved.read += product.getSizes()[1] * int64_t(cast<MemRefType>(bias.getType()).getElementTypeBitWidth()) / 8;
    name += " bias";
  }
  if (product.getActivation() == ppcrt::Activation::Gelu)
    name += " gelu";
  for (Value kept : product.getOuts().drop_front())
    moved.written += bytesOf(kept), name += " sum";
  return {moved, name};
}

/// A launch that memory limits, or the epilogue of a product, and what it moves; `least` as in the header.
struct Row {
  std::string name;
  bool isKernel = true;
  int64_t read = 0, written = 0, leastRead = 0, leastWritten = 0;
};

class FunctionTraffic {
public:
  explicit FunctionTraffic(func::FuncOp function) {
    for (Operation &op : function.front())
      if (!isMemoryEffectFree(&op) && !isa<ViewLikeOpInterface, func::ReturnOp>(op))
        ops.push_back({&op, accessesOf(&op)});
  }

  SmallVector<Row> run() {
    for (size_t at = 0; at < ops.size(); ++at) {
      auto launch = dyn_cast<ppcrt::LaunchOp>(ops[at].op);
      if (auto product = dyn_cast<ppcrt::EpilogueGemmOp>(ops[at].op)) {
        endRun(at);
        auto [moved, name] = epilogueOf(product);
        rows.push_back({name, false, moved.read, moved.written, moved.read, moved.written});
        continue;
      }
      Work work = launch ? workOf(launch) : Work();
      if (!launch || work.flops >= kArithmeticPerByte * work.bytes) {
        endRun(at);
        continue;
      }
      addLaunch(launch, ops[at].accesses);
    }
    endRun(ops.size());
    return std::move(rows);
  }

private:
  struct Step {
    Operation *op;
    SmallVector<Access> accesses;
  };

  void addLaunch(ppcrt::LaunchOp launch, ArrayRef<Access> accesses) {
    Row row{launch.getKernel().getLeafReference().getValue().str()};
    for (const Access &access : accesses) {
      row.read += access.read;
      row.written += access.written;
      bool isKnown = lastWriters.contains(access.root);
      if (access.read && !isKnown && seen.insert(access.root).second)
        row.leastRead += access.read;
      if (access.written)
        lastWriters[access.root] = {rows.size(), access.written};
    }
    rows.push_back(row);
  }

  /// Before the op number `next`.
  void endRun(size_t next) {
    for (auto &[root, writer] : lastWriters)
      if (!isTemporary(root) || isReadFrom(next, root))
        rows[writer.first].leastWritten += writer.second;
    lastWriters.clear();
    seen.clear();
  }

  /// Whether what a temporary holds before the op number `next` is read.
  bool isReadFrom(size_t next, Value root) const {
    for (const Step &step : ArrayRef(ops).drop_front(next))
      for (const Access &access : step.accesses)
        if (access.root == root)
          return access.read > 0;
    return false;
  }

  SmallVector<Step> ops;
  SmallVector<Row> rows;
  llvm::MapVector<Value, std::pair<size_t, int64_t>> lastWriters; // of the run: the row, and its bytes
  llvm::SmallDenseSet<Value> seen;                                // read in the run
};

} // namespace

LaunchTraffic trafficOf(ppcrt::LaunchOp launch) {
  LaunchTraffic traffic;
  for (const Access &access : accessesOf(launch))
    traffic.read += access.read, traffic.written += access.written;
  return traffic;
}

std::string trafficTable(ModuleOp module) {
  llvm::DenseMap<Attribute, int64_t> calls;
  module.walk([&](ppcrt::CallOp call) { ++calls[call.getCalleeAttr().getAttr()]; });
  std::string table;
  llvm::raw_string_ostream out(table);
  out << "function,calls,kernel,bytes read,bytes written,least read,least written\n";
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    SmallVector<Row> rows = FunctionTraffic(function).run();
    if (rows.empty())
      continue;
    int64_t times = calls.contains(function.getSymNameAttr()) ? calls.lookup(function.getSymNameAttr()) : 1;
    Row sum;
    int64_t kernels = 0;
    auto print = [&](const llvm::Twine &kernel, const Row &row) {
      out << function.getSymName() << "," << times << "," << kernel << "," << row.read << "," << row.written << ","
          << row.leastRead << "," << row.leastWritten << "\n";
    };
    for (Row &row : rows) {
      print(row.name, row);
      kernels += row.isKernel;
      sum.read += row.read;
      sum.written += row.written;
      sum.leastRead += row.leastRead;
      sum.leastWritten += row.leastWritten;
    }
    print(llvm::Twine(kernels) + " kernels", sum);
  }
  return table;
}

} // namespace mlir::ppc::cuda
