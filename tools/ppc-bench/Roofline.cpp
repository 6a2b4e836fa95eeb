#include "Roofline.h"
#include "Kernels.h"

#include "ppc/Reporting/TextTable.h"
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Units.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

namespace mlir::ppc {
namespace {

/// All operations of one name, per step and rank.
struct Row {
  std::string name;
  double calls = 0, seconds = 0, flops = 0, bytes = 0, roofline = 0;
  bool isCompute = false, isExchange = false;

  Row &operator+=(const Row &other) {
    calls += other.calls, seconds += other.seconds, flops += other.flops, bytes += other.bytes,
        roofline += other.roofline;
    return *this;
  }
};

// Of a step; the longest operation is shown in any case, also where the machine did something else nearly all the time.
constexpr double shownShare = 0.01;

bool isExchange(llvm::StringRef name) {
  for (llvm::StringRef kind : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"})
    if (name.contains(kind))
      return true;
  return false;
}

std::vector<std::string> cells(const Row &row, double step, llvm::StringRef bound) {
  auto rate = [&](double work) {
    return work > 0 && row.seconds > 0 ? fixedText(work / row.seconds * 1e-9, 1) : std::string();
  };
  return {row.name,
          row.calls ? groupedText(row.calls) : std::string(),
          toString(Seconds(row.seconds)),
          percentText(row.seconds / step),
          rate(row.flops),
          rate(row.bytes),
          bound.str(),
          row.roofline > 0 ? toString(Seconds(row.roofline)) : std::string()};
}

} // namespace

CorePeaks measureCorePeaks(int cores, bool bf16) {
  constexpr int64_t edge = 1024, bytes = int64_t(64) << 20;
  std::vector<TurnTime> times =
      runBenchmarks({productBenchmark(edge, edge, edge, bf16), streamBenchmark(bytes)}, cores, 0.25);
  if (times.size() != 2)
    return {};
  return {2.0 * edge * edge * edge / times[0].processor, double(bytes) / times[1].processor};
}

llvm::Error printRoofline(const std::string &profile, const CorePeaks &peaks, llvm::raw_ostream &out) {
  auto file = llvm::MemoryBuffer::getFile(profile);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + profile);
  if (llvm::Error error = checkJsonText(profile, (*file)->getBuffer()))
    return error;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*file)->getBuffer());
  if (!value)
    return value.takeError();
  const llvm::json::Object *top = value->getAsObject();
  const llvm::json::Array *operations = top ? top->getArray("operations") : nullptr;
  if (!operations)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), profile + ": no operations");
  double steps = top->getNumber("steps").value_or(1), step = top->getNumber("seconds").value_or(0) / steps;
  llvm::MapVector<llvm::StringRef, Row> rows;
  for (const llvm::json::Value &entry : *operations) {
    const llvm::json::Object &object = *entry.getAsObject();
    llvm::StringRef name = object.getString("name").value_or("");
    double calls = object.getNumber("calls").value_or(0) / steps;
    Row one{name.str(), calls, object.getNumber("seconds").value_or(0) / steps,
            object.getNumber("flops").value_or(0) * calls, object.getNumber("bytes").value_or(0) * calls};
    bool isProduct = name.contains(" x "); // only products run at the rate of products
    double compute = isProduct ? one.flops / peaks.flops : 0, memory = one.bytes / peaks.bytes;
    one.roofline = std::max(compute, memory);
    Row &all = rows[name];
    all.name = one.name;
    all.isCompute = compute > memory;
    all.isExchange = isExchange(name);
    all += one;
  }
  std::vector<Row> sorted;
  double longest = 0;
  for (auto &[name, row] : rows)
    longest = std::max(longest, row.seconds);
  Row others{"others"}, outside{"outside of compiled code", 0, step}, sum{"step"};
  for (auto &[name, row] : rows) {
    sum += row;
    outside.seconds -= row.seconds;
    if (row.seconds >= std::min(shownShare * step, longest))
      sorted.push_back(row);
    else
      others += row;
  }
  llvm::sort(sorted, [](const Row &a, const Row &b) { return a.seconds > b.seconds; });
  TextTable table(
      {"operation, per step and rank", "calls", "time", "share", "GFLOP/s", "GB/s", "bound by", "at the roofline"});
  for (const Row &row : sorted)
    table.row(cells(row, step, row.isExchange ? "exchange" : row.isCompute ? "products" : "memory"));
  others.calls = sum.calls = 0;
  sum.seconds = step;
  table.row(cells(others, step, ""));
  table.row(cells(outside, step, ""));
  table.row(cells(sum, step, ""));
  out << "\nwhere the time goes, in a run that measures each operation; a core multiplies at "
      << fixedText(peaks.flops * 1e-9, 0) << " GFLOP/s and streams " << fixedText(peaks.bytes * 1e-9, 1)
      << " GB/s while all cores work\n\n";
  table.print(out);
  return llvm::Error::success();
}

} // namespace mlir::ppc
