#include "ppc/CostModel/Ledger.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <map>

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(LedgerPhase phase) {
  static constexpr llvm::StringRef names[] = {"prepare", "forward", "backward", "weight_gradient", "update"};
  return names[int(phase)];
}
llvm::StringRef mlir::ppc::toString(TransferKind kind) {
  static constexpr llvm::StringRef names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                              "all_to_all", "permute",    "message"};
  return names[int(kind)];
}
llvm::StringRef mlir::ppc::toString(MemoryRow::Kind kind) {
  static constexpr llvm::StringRef names[] = {"parameters", "state", "gradients", "prepared", "slots", "host_slots"};
  return names[int(kind)];
}

void MemberSet::add(int64_t size, int64_t stride) {
  if (size == 1)
    return;
  if (!parts.empty() && parts.back().first * parts.back().second == stride)
    parts.back().first *= size;
  else
    parts.push_back({size, stride});
}

int64_t MemberSet::size() const {
  int64_t size = 1;
  for (auto [members, stride] : parts)
    size *= members;
  return size;
}

std::string MemberSet::text() const {
  std::string text;
  for (auto [members, stride] : parts)
    text += llvm::formatv("{0}{1}x{2}", text.empty() ? "" : " ", members, stride);
  return text.empty() ? "1" : text;
}

/// Sorts rows; the number of those of one key is added up.
template <typename Row, typename Number> static void settleRows(std::vector<Row> &rows, Number Row::*number) {
  llvm::sort(rows, [](const Row &a, const Row &b) { return a.key() < b.key(); });
  std::vector<Row> settled;
  for (const Row &row : rows)
    if (!settled.empty() && settled.back().key() == row.key())
      settled.back().*number += row.*number;
    else
      settled.push_back(row);
  llvm::erase_if(settled, [&](const Row &row) { return row.*number == 0; });
  rows = std::move(settled);
}

void Ledger::settle() {
  llvm::erase_if(transfers, [](const TransferRow &row) { return row.elements == 0; });
  settleRows(transfers, &TransferRow::calls);
  settleRows(work, &WorkRow::flops);
  settleRows(memory, &MemoryRow::bytes);
}

void mlir::ppc::printLedgers(llvm::ArrayRef<std::pair<llvm::StringRef, const Ledger *>> ledgers,
                             llvm::raw_ostream &out) {
  std::map<std::string, std::vector<int64_t>> lines; // cells before the numbers
  std::vector<std::string> order;
  auto add = [&](const std::string &cells, size_t ledger, int64_t number) {
    auto [line, isNew] = lines.try_emplace(cells, ledgers.size(), 0);
    line->second[ledger] += number;
    if (isNew)
      order.push_back(cells);
  };
  for (size_t i = 0; i < ledgers.size(); ++i)
    for (const TransferRow &row : ledgers[i].second->transfers)
      add(llvm::formatv("transfer,{0},{1},{2},{3},{4},{5}", row.device, toString(row.phase), toString(row.kind),
                        row.members.text(), row.elementBits, row.elements),
          i, row.calls);
  for (size_t i = 0; i < ledgers.size(); ++i)
    for (const WorkRow &row : ledgers[i].second->work)
      add(llvm::formatv("work,{0},{1},{2},,,", row.device, toString(row.phase),
                        row.attention ? "attention" : "products"),
          i, row.flops);
  for (size_t i = 0; i < ledgers.size(); ++i)
    for (const MemoryRow &row : ledgers[i].second->memory)
      add(llvm::formatv("memory,{0},,{1},,,", row.device, toString(row.kind)), i, row.bytes);
  out << "part,device,phase,kind,members,element_bits,elements";
  for (const auto &[name, ledger] : ledgers)
    out << "," << name;
  out << "\n";
  for (const std::string &cells : order) {
    out << cells;
    for (int64_t number : lines[cells])
      out << "," << number;
    out << "\n";
  }
}
