#include "ppc/Support/CsvReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir::ppc;

namespace {
class Splitter {
public:
  Splitter(llvm::StringRef name, llvm::StringRef text) : name(name), text(text) {}
  bool atEnd() const { return position >= text.size(); }
  int64_t currentLine() const { return line; }

  llvm::Error fail(int64_t where, const llvm::Twine &message) const {
    return llvm::createStringError(name + ":" + llvm::Twine(where) + ": error: " + message);
  }

  /// The cells up to the end of the line.
  llvm::Error record(std::vector<std::string> &cells) {
    cells.clear();
    while (true) {
      if (llvm::Error error = cell(cells.emplace_back()))
        return error;
      if (atEnd())
        return llvm::Error::success();
      char c = text[position++];
      if (c == ',')
        continue;
      ++line; // c is the line end
      return llvm::Error::success();
    }
  }

private:
  llvm::Error cell(std::string &value) {
    if (!atEnd() && text[position] == '"') {
      int64_t start = line;
      for (++position;; ++position) {
        if (atEnd())
          return fail(start, "a quoted cell does not end");
        char c = text[position];
        if (c == '"') {
          if (position + 1 < text.size() && text[position + 1] == '"')
            ++position;
          else
            break;
        }
        line += c == '\n';
        value += c;
      }
      ++position;
    } else {
      size_t end = text.find_first_of(",\n", position);
      end = end == llvm::StringRef::npos ? text.size() : end;
      value = text.slice(position, end).str();
      position = end;
    }
    if (!atEnd() && text[position] == '\r' && (position + 1 == text.size() || text[position + 1] == '\n'))
      ++position;
    if (!value.empty() && value.back() == '\r')
      value.pop_back();
    if (!atEnd() && text[position] != ',' && text[position] != '\n')
      return fail(line, "expected a comma or the end of the line after a quoted cell");
    return llvm::Error::success();
  }

  llvm::StringRef name, text;
  size_t position = 0;
  int64_t line = 1;
};
} // namespace

llvm::Expected<CsvTable> mlir::ppc::readCsv(llvm::StringRef name, llvm::StringRef text) {
  text.consume_front("\xef\xbb\xbf");
  Splitter splitter(name, text);
  if (size_t nul = text.find('\0'); nul != llvm::StringRef::npos)
    return splitter.fail(int64_t(text.take_front(nul).count('\n')) + 1, "a NUL byte is not text");
  CsvTable table;
  std::vector<std::string> cells;
  while (!splitter.atEnd()) {
    int64_t line = splitter.currentLine();
    if (llvm::Error error = splitter.record(cells))
      return std::move(error);
    if (cells.size() == 1 && cells.front().empty())
      continue;
    if (table.header.empty()) {
      for (size_t i = 0; i < cells.size(); ++i)
        if (llvm::is_contained(llvm::ArrayRef(cells).take_front(i), cells[i]))
          return splitter.fail(line, "column '" + cells[i] + "' occurs twice");
      table.header = cells;
      continue;
    }
    if (cells.size() != table.header.size())
      return splitter.fail(line,
                           llvm::Twine(cells.size()) + " cells; the header has " + llvm::Twine(table.header.size()));
    table.rows.push_back(cells);
    table.lines.push_back(line);
  }
  if (table.header.empty())
    return splitter.fail(1, "no header line");
  return table;
}

std::string mlir::ppc::csvCell(llvm::StringRef text) {
  if (text.find_first_of(",\"\r\n") == llvm::StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"')
      quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}
