// Reads the objects of a JSON file and says exactly what is wrong with it: every message names the file and the key
// path. The first error sticks: after it the readers return fall-back values, so a client reads a whole table of keys
// and asks for the error once. Keys that nobody read are known, so that a client can refuse what it does not
// understand.
#ifndef PPC_SUPPORT_JSONREADER_H
#define PPC_SUPPORT_JSONREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::ppc {

/// One object of a JSON document. Copies and nested readers share the document, its first error and its read keys.
///
///   llvm::Expected<JsonReader> reader = JsonReader::fromFile("config.json");
///   int64_t hidden = reader->integer("hidden_size", 1);
///   double theta = reader->number("rope_theta", 10000.0);
///   if (llvm::Error error = reader->takeError()) ...
///
/// `config.json: key "hidden_size": expected an integer >= 1, found "8"`
class JsonReader {
public:
  /// The top-level object of a file. Errors: unreadable; not JSON (`config.json:3:15: expected , or ]`); not an object;
  /// what checkJsonText refuses.
  static llvm::Expected<JsonReader> fromFile(llvm::StringRef path);
  /// The same for text in memory; `name` is what messages call it.
  static llvm::Expected<JsonReader> fromText(llvm::StringRef name, llvm::StringRef text);

  /// Whether the key is there with a value other than null. Does not count as reading it.
  bool has(llvm::StringRef key) const;
  /// Whether the key is there, null or not, and nobody read it.
  bool isUnread(llvm::StringRef key) const;
  /// Whether the key is there with one of these values; null is one. Does not count as reading it.
  bool isOneOf(llvm::StringRef key, llvm::ArrayRef<llvm::json::Value> values) const;
  /// The key of the document that this object is, with a point behind it; "" at the top.
  std::string prefix() const { return path.empty() ? "" : path + "."; }
  /// Keys of this object whose value is null, sorted. The readers below take null for absent; a client for which the
  /// two are not the same asks here.
  std::vector<std::string> nullKeys() const;

  /// Each reads one key. A key that is absent or null gives the fall-back; without one that is an error.
  int64_t integer(llvm::StringRef key, int64_t minimum, std::optional<int64_t> fallback = std::nullopt);
  double number(llvm::StringRef key, std::optional<double> fallback = std::nullopt);
  /// A number > 0, in 32 bits too.
  double positive(llvm::StringRef key, std::optional<double> fallback = std::nullopt);
  bool boolean(llvm::StringRef key, std::optional<bool> fallback = std::nullopt);
  std::string string(llvm::StringRef key, std::optional<std::string> fallback = std::nullopt);
  std::vector<std::string> strings(llvm::StringRef key);
  std::vector<double> numbers(llvm::StringRef key); // finite; the same otherwise
  /// The nested object, or nothing when absent or null. Anything else is an error.
  std::optional<JsonReader> object(llvm::StringRef key);

  /// Refuses any value but this one, as `refuse` does. Absent or null is accepted.
  void only(llvm::StringRef key, const llvm::json::Value &supported);

  /// Counts these keys as read, whatever they hold.
  void ignore(llvm::ArrayRef<llvm::StringRef> keys);
  /// Paths of the keys that nobody read, in this object and in the nested ones that were opened; sorted.
  std::vector<std::string> unreadKeys() const;

  /// Paths of the keys that were asked for by a reader above, whether they are there or not, each with the fall-back
  /// that was last given for it; without one, null. Ignored keys are not among them.
  std::map<std::string, llvm::json::Value> readKeys() const;

  /// Records `FILE: key "PATH": expected EXPECTED, found VALUE` unless an earlier error is recorded.
  void reject(llvm::StringRef key, const llvm::Twine &expected);
  /// Records `FILE: key "PATH": MESSAGE` unless an earlier error is recorded.
  void fail(llvm::StringRef key, const llvm::Twine &message);
  /// Records `key "PATH": MESSAGE` beside all others: of keys that are wrong by themselves, so that one run names them
  /// all.
  void refuse(llvm::StringRef key, const llvm::Twine &message);
  /// Refuses the value of a key with `expected EXPECTED, found VALUE`.
  void refuseValue(llvm::StringRef key, const llvm::Twine &expected);
  bool hasError() const;
  /// The first error and all that was refused, joined by "; ", once; success after that.
  llvm::Error takeError();

private:
  struct Document;
  JsonReader(std::shared_ptr<Document> document, const llvm::json::Object *object, std::string path)
      : document(std::move(document)), contents(object), path(std::move(path)) {}

  /// The value, counted as read; null when absent, or null in the file. The fall-back is noted for readKeys().
  const llvm::json::Value *read(llvm::StringRef key, llvm::json::Value fallback = nullptr);
  /// Records that `key` is missing unless the caller has a fall-back.
  void require(llvm::StringRef key, bool hasFallback, llvm::StringRef expected);
  std::string pathOf(llvm::StringRef key) const;

  std::shared_ptr<Document> document;
  const llvm::json::Object *contents;
  std::string path; // "" at the top, else "rope_scaling"
};

} // namespace mlir::ppc

#endif // PPC_SUPPORT_JSONREADER_H
