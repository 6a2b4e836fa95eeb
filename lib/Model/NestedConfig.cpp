// Files of models of several parts, pictures and text: the text part is read from "text_config", the others are left
// out, with a note. The text part is a complete config.json, and is written next to weights as one.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

static constexpr llvm::StringLiteral textKey = "text_config";

/// Whether a key next to the text part concerns pictures, sounds or their connection to the text.
static bool isOfOtherParts(llvm::StringRef key) {
  static constexpr llvm::StringRef words[] = {"vision", "image", "video", "audio", "media", "projector", "mm_"};
  return llvm::any_of(words, [&](llvm::StringRef word) { return key.contains(word); }) || key == "ignore_index";
}

/// A file of several parts names its own architecture; from here on, `reader` reads the text part.
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

/// The file of the whole model decides whether the LM head is the embedding; the other keys next to the text part must
/// concern other parts.
void ConfigReader::readOuterKeys() {
  if (!outer)
    return;
  bool tied = outer->boolean("tie_word_embeddings", false);
  if (reader.has("tie_word_embeddings") && reader.boolean("tie_word_embeddings") != tied)
    reader.refuse(
        "tie_word_embeddings",
        llvm::formatv("{0} here but {1} next to text_config, which counts: set both alike", shape.tiedEmbeddings, tied)
            .str());
  shape.tiedEmbeddings = tied;
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
