// Reader of the mappings of a YAML file with exact errors: `FILE:LINE:COLUMN: error: ...` with the key, the value and
// the expected values. The first error sticks: after it the readers return fall-back values, so a client reads a whole
// table of keys and asks for the error once. If it is a missing key, later missing keys are appended to it. LLVM parses
// the text; anchors, tags and several documents are refused.
#ifndef PPC_SUPPORT_YAMLREADER_H
#define PPC_SUPPORT_YAMLREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::ppc {

struct YamlNode;

/// One mapping of a YAML document. Copies and nested readers share the document, its first error and its read keys.
///
///   llvm::Expected<YamlReader> reader = YamlReader::fromFile("cluster.yaml");
///   double bandwidth = reader->positive("bandwidth");
///   reader->finish();
///   if (llvm::Error error = reader->takeError()) ...
///
/// `cluster.yaml:3:14: error: key "bandwidth": expected a number > 0, found "fast"`
class YamlReader {
public:
  /// The top-level mapping of a file. Errors: unreadable, longer than limits::yamlBytes, not YAML, not a
  /// mapping, a key twice, nested deeper than limits::nesting.
  static llvm::Expected<YamlReader> fromFile(llvm::StringRef path);
  /// Overload for text in memory; `name` is the file name in messages.
  static llvm::Expected<YamlReader> fromText(llvm::StringRef name, llvm::StringRef text);

  /// Returns whether the key exists with a value other than null. Does not count as reading it.
  bool has(llvm::StringRef key) const;
  /// The keys in the order of the file; for mappings whose keys are names. Does not count as reading them.
  std::vector<std::string> keys() const;

  /// Each reads one key. A key that is absent or null gives the fall-back; without one that is an error.
  int64_t integer(llvm::StringRef key, int64_t minimum, std::optional<int64_t> fallback = std::nullopt);
  /// Overload with an upper bound `maximum`.
  int64_t integerWithin(llvm::StringRef key, int64_t minimum, int64_t maximum,
                        std::optional<int64_t> fallback = std::nullopt);
  /// A number within [minimum, maximum].
  double number(llvm::StringRef key, double minimum, double maximum, std::optional<double> fallback = std::nullopt);
  /// A finite number > 0.
  double positive(llvm::StringRef key, std::optional<double> fallback = std::nullopt);
  bool boolean(llvm::StringRef key, std::optional<bool> fallback = std::nullopt);
  std::string string(llvm::StringRef key, std::optional<std::string> fallback = std::nullopt);
  /// One of `choices`, as its index.
  size_t choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
                std::optional<size_t> fallback = std::nullopt);
  /// The nested mapping, or nothing when absent or null. Anything else is an error.
  std::optional<YamlReader> mapping(llvm::StringRef key);
  /// The mappings of a list; none when absent or null. Anything else is an error.
  std::vector<YamlReader> mappings(llvm::StringRef key);
  /// The numbers of a list; none when absent or null. Anything else is an error.
  std::vector<double> numbers(llvm::StringRef key);
  std::vector<std::string> strings(llvm::StringRef key);
  /// The lists of names of a list: `[ [ dp ], [] ]`.
  std::vector<std::vector<std::string>> stringLists(llvm::StringRef key);
  /// The integers within [minimum, maximum] of a list.
  std::vector<int64_t> integers(llvm::StringRef key, int64_t minimum, int64_t maximum);

  /// Records an unknown key, with the keys that were asked for as the expected ones.
  void finish();
  /// Records `FILE:LINE:COLUMN: error: key "KEY": MESSAGE` unless an earlier error is recorded; at the mapping when it
  /// has no such key.
  void fail(llvm::StringRef key, const llvm::Twine &message);
  /// Records that the required key is missing, after other missing keys; those of another mapping with their position.
  void missing(llvm::StringRef key, const llvm::Twine &expected);
  /// Whether nothing worse than missing keys is recorded: a client may go on, to have all of them listed.
  bool lacksAtMost() const;
  /// Records `FILE:LINE:COLUMN: error: MESSAGE` at the mapping itself.
  void failHere(const llvm::Twine &message);
  bool failed() const;
  /// The first error, once; success after that.
  llvm::Error takeError();

private:
  struct Document;
  YamlReader(std::shared_ptr<Document> document, const YamlNode *node) : document(std::move(document)), node(node) {}

  const YamlNode *find(llvm::StringRef key) const;
  /// The value, counted as read; null when absent, or null in the file. Absent without a fall-back is recorded.
  const YamlNode *read(llvm::StringRef key, bool hasFallback, const llvm::Twine &expected);
  void reject(llvm::StringRef key, const YamlNode &value, const llvm::Twine &expected);
  void record(const YamlNode &where, const llvm::Twine &message);

  std::shared_ptr<Document> document;
  const YamlNode *node;
  std::vector<std::string> asked; // keys read through this reader
};

} // namespace mlir::ppc

#endif // PPC_SUPPORT_YAMLREADER_H
