// Communication in the code of routines: its groups, and the buffers with which the code finishes early.
#ifndef PPC_LIB_TIMING_CODECOMMUNICATION_H
#define PPC_LIB_TIMING_CODECOMMUNICATION_H

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::ppc {

/// Ranks that communicate, as in `ppcrt.group`; collectives on tensors name axes themselves.
struct GroupKey {
  ArrayAttr axes;
  DenseI64ArrayAttr stages;
  ArrayAttr ranks;
};

/// The groups of a program, numbered.
class ProgramGroups {
public:
  explicit ProgramGroups(ppcrt::ProgramOp program);

  /// The group that `op` communicates over; std::nullopt if it is not a collective, or its group is not in the
  /// module.
  std::optional<uint32_t> of(Operation *op);
  /// The devices that communicate with `device` in this group, itself among them; empty where it, or one of its ranks,
  /// is not in the group.
  ArrayRef<int64_t> members(uint32_t group, int64_t device);
  /// Whether every rank of `device` communicates with the rank of the same index in `other`.
  bool keepsPlaces(uint32_t group, int64_t device, int64_t other) const;
  /// Whether the group joins several devices.
  bool isBetweenDevices(uint32_t group) const;
  size_t size() const { return keys.size(); }
  /// Text for messages to users.
  std::string describe(uint32_t group) const;
  /// The declaration of the group; null if a collective names axes.
  Operation *declaration(Operation *op) const;

private:
  SmallVector<int64_t> findMembers(const GroupKey &key, int64_t device) const;

  ppcrt::ProgramOp program;
  int64_t deviceCount, ranksPerDevice;
  DenseMap<Attribute, ppcrt::GroupOp> declared;
  DenseMap<std::tuple<Attribute, Attribute, Attribute>, uint32_t> numbers;
  std::vector<GroupKey> keys;
  std::map<std::pair<uint32_t, int64_t>, SmallVector<int64_t>> known;
};

/// Communication of one run of a function.
struct CodeCommunication {
  std::vector<Operation *> ordered; ///< between devices, and each ppcrt.reach, in the order in which it happens
  std::vector<uint32_t> groups;     ///< all of them, ascending
  std::vector<Operation *> used;    ///< one op per group
};

/// Communication of functions and their callees, computed once for each.
class CommunicationOfCode {
public:
  CommunicationOfCode(ModuleOp module, ProgramGroups &groups) : functions(module), groups(groups) {}

  /// Communication of the function of this name; empty if there is none.
  const CodeCommunication &of(StringAttr function) { return of(function, 0); }

private:
  const CodeCommunication &of(StringAttr function, unsigned depth);

  SymbolTable functions;
  ProgramGroups &groups;
  DenseMap<Attribute, std::unique_ptr<CodeCommunication>> known;
};

} // namespace mlir::ppc

#endif // PPC_LIB_TIMING_CODECOMMUNICATION_H
