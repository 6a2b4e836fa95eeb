#include "Roofline.h"
#include "Kernels.h"

#include "ppc/Reporting/TextTable.h"
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Units.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <map>
#include <optional>

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

// Share of a step; the longest operation is always shown, also if the machine did other work nearly all the time.
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
          row.roofline > 0 ? toString(Seconds(row.roofline)) : std::string(),
          row.roofline > 0 && row.seconds > 0 ? percentText(row.roofline / row.seconds) : std::string()};
}

/// One of the list in a profile. Errors: it lacks a value, or has one of another kind.
llvm::Expected<Row> readRow(const llvm::json::Value &entry, double steps, const DevicePeaks &peaks) {
  const llvm::json::Object *object = entry.getAsObject();
  std::optional<llvm::StringRef> name = object ? object->getString("name") : std::nullopt;
  if (!name)
    return llvm::createStringError("an operation has no \"name\"");
  Row row{name->str()};
  for (auto [key, value] : {std::pair("calls", &row.calls), std::pair("seconds", &row.seconds),
                            std::pair("flops", &row.flops), std::pair("bytes", &row.bytes)}) {
    std::optional<double> number = object->getNumber(key);
    if (!number || !(*number >= 0))
      return llvm::createStringError("operation \"" + row.name + "\" has no \"" + key + "\" that is a number >= 0");
    *value = *number;
  }
  row.calls /= steps, row.seconds /= steps, row.flops *= row.calls, row.bytes *= row.calls;
  // Only matmuls run at the rate of matmuls.
  bool isProduct = name->contains(" x ") || name->contains("attention");
  double compute = isProduct && peaks.flops > 0 ? row.flops / peaks.flops : 0;
  double memory = peaks.bytes > 0 ? row.bytes / peaks.bytes : 0;
  row.roofline = std::max(compute, memory);
  row.isCompute = compute > memory;
  row.isExchange = isExchange(*name);
  return row;
}

struct ProfileRows {
  std::map<std::string, Row> rows; // by name
  double step = 0;                 // seconds
};

llvm::Expected<ProfileRows> readProfile(const std::string &profile, const DevicePeaks &peaks) {
  auto file = llvm::MemoryBuffer::getFile(profile);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + profile + ": " + file.getError().message());
  if (llvm::Error error = checkJsonText(profile, (*file)->getBuffer()))
    return error;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*file)->getBuffer());
  if (!value)
    return value.takeError();
  const llvm::json::Object *top = value->getAsObject();
  const llvm::json::Array *operations = top ? top->getArray("operations") : nullptr;
  double steps = top ? top->getNumber("steps").value_or(0) : 0, all = top ? top->getNumber("seconds").value_or(0) : 0;
  if (!operations || !(steps > 0) || !(all > 0))
    return llvm::createStringError(profile + ": expected what a program writes with --profile: \"steps\" and "
                                             "\"seconds\" above 0, and \"operations\"");
  ProfileRows result;
  result.step = all / steps;
  for (const llvm::json::Value &entry : *operations) {
    llvm::Expected<Row> one = readRow(entry, steps, peaks);
    if (!one)
      return llvm::createStringError(profile + ": " + llvm::toString(one.takeError()));
    Row &sum = result.rows[one->name];
    sum.name = one->name;
    sum.isCompute = one->isCompute;
    sum.isExchange = one->isExchange;
    sum += *one;
  }
  return result;
}

} // namespace

DevicePeaks measureCorePeaks(int cores, bool bf16) {
  constexpr int64_t edge = 1024, bytes = int64_t(64) << 20;
  std::vector<TurnTime> times =
      runBenchmarks({productBenchmark(edge, edge, edge, bf16), streamBenchmark(bytes)}, cores, 0.25);
  if (times.size() != 2)
    return {};
  return {2.0 * edge * edge * edge / times[0].processor, double(bytes) / times[1].processor};
}

llvm::Error printRoofline(const std::string &profile, const DevicePeaks &peaks, llvm::StringRef device,
                          llvm::raw_ostream &out) {
  llvm::Expected<ProfileRows> read = readProfile(profile, peaks);
  if (!read)
    return read.takeError();
  double step = read->step;
  auto &rows = read->rows;
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
  TextTable table({"operation, per step and rank", "calls", "time", "share", "GFLOP/s", "GB/s", "bound by",
                   "at the roofline", "reached"});
  for (const Row &row : sorted)
    table.row(cells(row, step, row.isExchange ? "exchange" : row.isCompute ? "products" : "memory"));
  others.calls = sum.calls = 0;
  sum.seconds = step;
  table.row(cells(others, step, ""));
  table.row(cells(outside, step, ""));
  table.row(cells(sum, step, ""));
  out << "\nwhere the time goes, in a run that measures each operation; " << device << " multiplies at "
      << fixedText(peaks.flops * 1e-9, 0) << " GFLOP/s and streams " << fixedText(peaks.bytes * 1e-9, 1) << " GB/s\n\n";
  table.print(out);
  return llvm::Error::success();
}

} // namespace mlir::ppc
