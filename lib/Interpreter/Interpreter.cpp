// Runs all ranks of a program: each as far as it gets alone, then the collectives whose groups are complete.
#include "ppc/Interpreter/Interpreter.h"
#include "RankMachine.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/RankGrid.h"

namespace mlir::ppc {

// The ranks that take part in the collective that `rank` waits at, in group order.
static SmallVector<int64_t> participants(const RankGrid &grid, int64_t rank, Operation *op) {
  SmallVector<int64_t> group = grid.group(rank, axisNames(collectiveAxes(op)));
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    if (std::optional<ArrayRef<int64_t>> stages = reduce.getStages())
      llvm::erase_if(group, [&](int64_t other) { return !llvm::is_contained(*stages, grid.coordinate(other, "pp")); });
  return group;
}

// Whether two ops are one collective, perhaps in different functions: compares types and properties, not attributes
// that passes add.
static bool areTheSame(Operation *a, Operation *b) {
  return a->getName() == b->getName() && a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute() &&
         a->getOperandTypes() == b->getOperandTypes() && a->getResultTypes() == b->getResultTypes();
}

namespace {
class Ranks {
public:
  Ranks(GridAttr grid, ArrayRef<func::FuncOp> functions, Arithmetic arithmetic) : grid(grid) {
    for (auto [rank, function] : llvm::enumerate(functions))
      machines.emplace_back(function, this->grid.context(rank), arithmetic);
  }

  FailureOr<SmallVector<RankValues>> run(ArrayRef<RankValues> arguments);

private:
  /// Runs the collective of `rank` when its group is complete. True when it took place.
  FailureOr<bool> communicate(int64_t rank);
  void reportDeadlock();

  RankGrid grid;
  std::vector<RankMachine> machines;
};
} // namespace

FailureOr<bool> Ranks::communicate(int64_t rank) {
  Operation *op = machines[rank].waitsAt();
  SmallVector<int64_t> group = participants(grid, rank, op);
  if (!llvm::is_contained(group, rank))
    return op->emitOpError() << "is reached by rank " << rank << ", which is not among its stages", failure();
  SmallVector<const ReferenceTensor *> operands;
  for (int64_t other : group) {
    Operation *otherOp = machines[other].waitsAt();
    if (!otherOp || !areTheSame(op, otherOp) || participants(grid, other, otherOp) != group)
      return false;
    operands.push_back(&machines[other].waitingOperand());
  }
  SmallVector<ReferenceTensor> results;
  if (failed(evaluateCollective(op, operands, results)))
    return failure();
  for (auto [other, result] : llvm::zip_equal(group, results))
    machines[other].resume(std::move(result));
  return true;
}

void Ranks::reportDeadlock() {
  for (auto [rank, machine] : llvm::enumerate(machines)) {
    Operation *op = machine.waitsAt();
    if (!op)
      continue;
    InFlightDiagnostic error = op->emitOpError() << "never takes place: rank " << rank << " waits for ranks";
    for (int64_t other : participants(grid, rank, op)) {
      Operation *otherOp = machines[other].waitsAt();
      if (otherOp && areTheSame(op, otherOp))
        continue;
      error << " " << other;
      if (otherOp)
        error.attachNote(otherOp->getLoc()) << "rank " << other << " waits here";
      else
        error.attachNote(op->getLoc()) << "rank " << other << " has returned";
    }
    return; // only for the first rank that waits: the others follow from it
  }
}

FailureOr<SmallVector<RankValues>> Ranks::run(ArrayRef<RankValues> arguments) {
  for (auto [machine, values] : llvm::zip_equal(machines, arguments))
    if (failed(machine.start(values)) || failed(machine.run()))
      return failure();
  while (!llvm::all_of(machines, [](const RankMachine &machine) { return machine.isDone(); })) {
    bool progress = false;
    for (size_t rank = 0; rank < machines.size(); ++rank) {
      if (machines[rank].isDone())
        continue;
      FailureOr<bool> done = communicate(rank);
      if (failed(done))
        return failure();
      progress |= *done;
      if (*done)
        for (RankMachine &machine : machines)
          if (failed(machine.run()))
            return failure();
    }
    if (!progress) {
      reportDeadlock();
      return failure();
    }
  }
  return llvm::map_to_vector(machines, [](RankMachine &machine) { return std::move(machine.results); });
}

FailureOr<SmallVector<RankValues>> interpretRanks(GridAttr grid, ArrayRef<func::FuncOp> functions,
                                                  ArrayRef<RankValues> arguments, Arithmetic arithmetic) {
  assert(int64_t(functions.size()) == grid.deviceCount() && functions.size() == arguments.size() &&
         "one function and one list of arguments per rank");
  return Ranks(grid, functions, arithmetic).run(arguments);
}

FailureOr<RankValues> interpretAlone(GridAttr grid, int64_t rank, func::FuncOp function,
                                     ArrayRef<ReferenceTensor> arguments, Arithmetic arithmetic) {
  RankMachine machine(function, RankGrid(grid).context(rank), arithmetic);
  if (failed(machine.start(arguments)) || failed(machine.run()))
    return failure();
  if (!machine.isDone())
    return machine.waitsAt()->emitOpError("communicates, and its rank runs alone");
  return std::move(machine.results);
}

FailureOr<SmallVector<RankValues>> interpretSpmd(GridAttr grid, func::FuncOp function, ArrayRef<RankValues> arguments) {
  return interpretRanks(grid, SmallVector<func::FuncOp>(grid.deviceCount(), function), arguments);
}

FailureOr<RankValues> interpret(func::FuncOp function, ArrayRef<ReferenceTensor> arguments) {
  auto grid = GridAttr::get(function.getContext(), {}, {});
  FailureOr<SmallVector<RankValues>> results = interpretSpmd(grid, function, {RankValues(arguments)});
  if (failed(results))
    return failure();
  return std::move(results->front());
}

} // namespace mlir::ppc
