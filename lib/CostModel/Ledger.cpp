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
  static constexpr llvm::StringRef names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "message"};
  return names[int(kind)];
}
llvm::StringRef mlir::ppc::toString(MemoryRow::Kind kind) {
  static constexpr llvm::StringRef names[] = {"parameters", "state", "gradients", "prepared", "slots"};
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

/// Numbers by what they are of, in words; a stable order for people.
using Entries = std::map<std::string, int64_t>;

static std::string placeOf(int64_t device, LedgerPhase phase) {
  return llvm::formatv("device {0} {1} ", device, toString(phase)).str();
}

static bool byTotal(const TransferRow &row, int64_t smallCall) {
  return row.phase == LedgerPhase::Prepare || row.phase == LedgerPhase::Update || row.bytes() < smallCall;
}

static Entries entriesOf(const Ledger &ledger, int64_t smallCall) {
  Entries entries;
  for (const TransferRow &row : ledger.transfers) {
    std::string text =
        placeOf(row.device, row.phase) + llvm::formatv("{0} over {1}, ", toString(row.kind), row.members.text()).str();
    if (byTotal(row, smallCall))
      entries[text + llvm::formatv(
                         "{0}elements of {1} bits: bytes",
                         row.phase == LedgerPhase::Prepare || row.phase == LedgerPhase::Update ? "" : "small calls, ",
                         row.elementBits)
                         .str()] += row.bytes() * row.calls;
    else
      entries[text + llvm::formatv("{0} elements of {1} bits: calls", row.elements, row.elementBits).str()] +=
          row.calls;
  }
  for (const WorkRow &row : ledger.work)
    entries[placeOf(row.device, row.phase) + (row.attention ? "attention: FLOPs" : "products: FLOPs")] += row.flops;
  for (const MemoryRow &row : ledger.memory)
    entries[llvm::formatv("device {0} {1}: bytes", row.device, toString(row.kind)).str()] += row.bytes;
  return entries;
}

std::vector<std::string> LedgerComparison::differences(const Ledger &priced, const Ledger &emitted) const {
  Entries all = entriesOf(priced, smallCall), found = entriesOf(emitted, smallCall);
  std::map<std::string, std::pair<int64_t, int64_t>> both;
  for (const auto &[text, number] : all)
    both[text].first = number;
  for (const auto &[text, number] : found)
    both[text].second = number;
  std::vector<std::string> lines;
  for (const auto &[text, numbers] : both)
    if (numbers.first != numbers.second)
      lines.push_back(llvm::formatv("{0}: {1} priced, {2} emitted", text, numbers.first, numbers.second).str());
  return lines;
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
