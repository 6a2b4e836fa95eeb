// Files of models of several parts, pictures and text: the text part is read from "text_config", the others are left
// out, which is said. What is read is a config.json of its own, as which it is written beside weights.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

static constexpr llvm::StringLiteral textKey = "text_config";

/// Keys beside the text part that are about pictures, sounds and what joins them to the text.
static bool isOfOtherParts(llvm::StringRef key) {
  static constexpr llvm::StringRef words[] = {"vision", "image",     "video",      "audio",
                                              "media",  "projector", "projection", "mm_"};
  return llvm::any_of(words, [&](llvm::StringRef word) { return key.contains(word); }) || key == "ignore_index";
}

/// A file of several parts says its own architecture; from here on, `reader` is that of the text part.
void ConfigReader::openTextPart() {
  std::vector<std::string> names =
      reader.has("architectures") ? reader.strings("architectures") : std::vector<std::string>();
  bool nested = reader.has(textKey),
       joins = names.size() == 1 && llvm::StringRef(names[0]).ends_with("ForConditionalGeneration");
  if (!nested && joins && !llvm::is_contained(modelArchitectures(), names[0]))
    return reader.fail(textKey, llvm::Twine("missing; ") + names[0] + " has its text part there, which alone is read");
  if (!nested)
    return;
  if (names.size() == 1 && llvm::is_contained(modelArchitectures(), names[0]))
    return reader.fail(textKey, llvm::Twine("a ") + names[0] +
                                    " has no parts: name the architecture of the whole model, or give the text part as "
                                    "a file of its own");
  reader.ignore({"architectures", "model_type"});
  std::optional<JsonReader> text = reader.object(textKey);
  if (!text)
    return;
  if (names.size() == 1)
    outerArchitecture = names[0];
  outer = std::exchange(reader, *text);
}

/// Whether the head is the embedding is asked of the whole model; the other keys beside the text part must be about
/// other parts. Version 4 of the reference asked the text part; version 5 writes its class's default there.
void ConfigReader::readOuterKeys() {
  if (!outer)
    return;
  bool tied = outer->boolean("tie_word_embeddings", false);
  unsigned version = 0;
  std::string text = outer->string("transformers_version", "");
  llvm::StringRef(text).take_until([](char c) { return c == '.'; }).getAsInteger(10, version);
  if (version < 5 && reader.has("tie_word_embeddings") && reader.boolean("tie_word_embeddings") != tied)
    reader.refuse(
        "tie_word_embeddings",
        llvm::formatv("{0} here and {1} beside text_config, which counts: say the same", shape.tiedEmbeddings, tied)
            .str());
  shape.tiedEmbeddings = tied;
  config.isTextPart = true;
  for (llvm::StringRef key : {"torch_dtype", "dtype"})
    outer->ignore({key});
  std::vector<std::string> others;
  for (const std::string &key : outer->unreadKeys())
    if (!llvm::StringRef(key).contains('.') && isOfOtherParts(key))
      others.push_back(key);
  for (const std::string &key : others)
    outer->ignore({key});
  config.notes.push_back("the text part alone is read, \"text_config\", as a " + config.architecture +
                         (others.empty() ? "" : "; left out are \"" + llvm::join(others, "\", \"") + "\""));
}

/// The defaults of text parts are not those of the family's own files.
void ConfigReader::requireOfTextPart(llvm::ArrayRef<llvm::StringRef> keys) {
  for (llvm::StringRef key : keys)
    if (!reader.has(key))
      reader.refuse(key, "missing; the text part of a " + llvm::Twine(outerArchitecture) +
                             " has another default than " + config.architecture + ": say the value");
}

/// The text part as a file of its own.
std::string ConfigReader::textPartAlone(llvm::StringRef text) const {
  llvm::json::Value whole = llvm::cantFail(llvm::json::parse(text));
  llvm::json::Object part = std::move(*whole.getAsObject()->getObject(textKey));
  part["architectures"] = llvm::json::Array{config.architecture};
  part["model_type"] = config.shape.family;
  part["tie_word_embeddings"] = config.shape.tiedEmbeddings;
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(part))).str();
}

} // namespace mlir::ppc
