// What a file is that was given as data and holds neither a text nor token ids: archives, columns, arrays, pictures.
#pragma once

#include <string>
#include <string_view>

namespace ppcrt {

// Says what `content` is, and how to make data of it, where its first bytes tell that it is no text and no list of
// token ids: "FILE is a gzip archive: unpack it (zcat FILE > text.txt)". Empty where they do not. `asTokens`: it is to
// be read as ids, whose first bytes may be anything: only what no ids look like counts.
std::string foreignContent(std::string_view content, const std::string &path, bool asTokens);

// The same of what is no file of weights, and of what is no tokenizer.json. Empty where the first bytes tell nothing.
std::string foreignWeights(std::string_view content, const std::string &path);
std::string foreignTokenizer(std::string_view content, const std::string &path);

// What nobody writes as a text to train on, though each byte of it may be one: JSON, UTF-16, binary data, or a name
// that says so. Empty where `content` looks like a text. --data-format text reads it all the same.
std::string unlikelyText(std::string_view content, const std::string &path);

// A note on a text that few users mean to train on as it is: HTML, XML or base64. Empty for other texts.
std::string textNote(std::string_view content, const std::string &path);

// Whether what is to be read as ids is a text: all of its first bytes are characters.
bool isTextForIds(std::string_view content);

// Whether ids of `width` bytes (2 or 4) are ids of twice that width: every second one is 0, and not all are.
bool areWiderIds(std::string_view content, int width);

// How to write ids of a wider type, or of an array file, as --data reads them.
std::string convertIds(const std::string &path, const char *type);

} // namespace ppcrt
