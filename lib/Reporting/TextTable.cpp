#include "ppc/Reporting/TextTable.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mlir::ppc;

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(header.size());
  rows.push_back(std::move(cells));
}

void TextTable::print(llvm::raw_ostream &out, llvm::StringRef indent) const {
  std::vector<size_t> width(header.size());
  std::vector<bool> right(header.size(), true);
  for (size_t i = 0; i < header.size(); ++i) {
    width[i] = header[i].size();
    for (const std::vector<std::string> &cells : rows) {
      width[i] = std::max(width[i], cells[i].size());
      right[i] =
          right[i] && (cells[i].empty() || llvm::isDigit(cells[i][0]) || llvm::StringRef("-+~").contains(cells[i][0]));
    }
  }
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text = indent.str();
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string blanks(width[i] - cells[i].size(), ' ');
      text += (i ? "  " : "") + (right[i] ? blanks + cells[i] : cells[i] + blanks);
    }
    out << llvm::StringRef(text).rtrim() << '\n';
  };
  line(header);
  for (const std::vector<std::string> &cells : rows)
    line(cells);
}

static std::string withPrefix(double value, llvm::ArrayRef<const char *> prefixes, const char *unit) {
  size_t step = 0;
  while (step + 1 < prefixes.size() && std::abs(value) >= 999.5) {
    value /= 1000;
    ++step;
  }
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) >= 999.5 ? "%.0f %s%s" : "%.3g %s%s", value, prefixes[step], unit);
  return llvm::StringRef(text).rtrim().str();
}

std::string mlir::ppc::countText(double count) { return withPrefix(count, {"", "k", "M", "B", "T"}, ""); }
std::string mlir::ppc::flopsText(double flops) {
  return withPrefix(flops, {"", "k", "M", "G", "T", "P", "E", "Z", "Y"}, "FLOP");
}
std::string mlir::ppc::percentText(double share) { return fixedText(100 * share, 1) + " %"; }

std::string mlir::ppc::groupedText(double count) {
  std::string text = fixedText(count, 0);
  for (int64_t i = int64_t(text.size()) - 3; i > (text[0] == '-'); i -= 3)
    text.insert(i, ",");
  return text;
}

std::string mlir::ppc::fixedText(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
