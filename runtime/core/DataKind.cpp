// A table of signatures, and what tells a text from other things.
#include "runtime/core/DataKind.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace ppcrt {
namespace {

using namespace std::string_view_literals;

constexpr size_t lookedAt = size_t(1) << 20; // bytes of a file that tell whether it is a text

enum class WayOut { Unpack, Columns, Array, Weights, Document, Picture, Program, Pointer };

struct Signature {
  std::string_view bytes;
  size_t at;
  const char *name;
  WayOut way;
  const char *unpack = nullptr; // command that writes the content to stdout
};

// In order: what is longer or says more comes first.
constexpr Signature signatures[] = {
    {"\x1f\x8b\x08"sv, 0, "a gzip file", WayOut::Unpack, "gzip -dc"},
    {"\x28\xb5\x2f\xfd"sv, 0, "a zstd file", WayOut::Unpack, "zstd -dc"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "an xz file", WayOut::Unpack, "xz -dc"},
    {"\xff\x06\0\0sNaPpY"sv, 0, "a snappy file", WayOut::Unpack, "snzip -dc"},
    {"\x5d\0\0\x80\0"sv, 0, "an lzma file", WayOut::Unpack, "xz -dc"},
    {"MSCF\0\0\0\0"sv, 0, "a cabinet archive", WayOut::Unpack, "cabextract -p"},
    {"!<arch>\n"sv, 0, "an archive of a package or a library", WayOut::Unpack},
    {"\xed\xab\xee\xdb"sv, 0, "an RPM package", WayOut::Unpack},
    {"CD001"sv, 32769, "a disc image", WayOut::Unpack},
    {"1AY&SY"sv, 4, "a bzip2 file", WayOut::Unpack, "bzip2 -dc"},
    {"\x04\x22\x4d\x18"sv, 0, "an lz4 file", WayOut::Unpack, "lz4 -dc"},
    {"PK\x03\x04"sv, 0, "a zip archive", WayOut::Unpack, "unzip -p"},
    {"PK\x05\x06"sv, 0, "a zip archive", WayOut::Unpack, "unzip -p"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "a 7z archive", WayOut::Unpack, "7z x -so"},
    {"Rar!\x1a\x07"sv, 0, "a rar archive", WayOut::Unpack, "unrar p"},
    {"\x1f\x9d"sv, 0, "a compressed file", WayOut::Unpack, "zcat"},
    {"ustar"sv, 257, "a tar archive", WayOut::Unpack, "tar -xOf"},
    {"PAR1"sv, 0, "a parquet file", WayOut::Columns},
    {"ARROW1"sv, 0, "an Arrow file", WayOut::Columns},
    {"\xff\xff\xff\xff"sv, 0, "an Arrow stream", WayOut::Columns}, // checked further below
    {"FEA1"sv, 0, "a Feather file", WayOut::Columns},
    {"Obj\x01"sv, 0, "an Avro file", WayOut::Columns},
    {"ORC\x0a"sv, 0, "an ORC file", WayOut::Columns},
    {"SQLite format 3\0"sv, 0, "an SQLite database", WayOut::Columns},
    {"\xde\xc0\xef\xbe"sv, 16, "an LMDB database", WayOut::Columns},
    {"\x0a\x23\xd7\xce"sv, 0, "a RecordIO file", WayOut::Columns},
    {"MATLAB 5.0 MAT-file"sv, 0, "a MATLAB file", WayOut::Columns},
    {"\xd4\xc3\xb2\xa1"sv, 0, "a network capture", WayOut::Columns},
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9"sv, 0, "a file of weights of PyTorch", WayOut::Weights},
    {"version https://git-lfs.github.com/spec/"sv, 0, "a pointer of Git LFS", WayOut::Pointer},
    {"\x93NUMPY"sv, 0, "a NumPy array", WayOut::Array},
    {"\x89HDF\r\n\x1a\n"sv, 0, "an HDF5 file", WayOut::Columns},
    {"GGUF"sv, 0, "a GGUF file of weights", WayOut::Weights},
    {"%PDF-"sv, 0, "a PDF document", WayOut::Document},
    {"%!PS-Adobe-"sv, 0, "a PostScript document", WayOut::Document},
    {"{\\rtf"sv, 0, "an RTF document", WayOut::Document},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, 0, "a document of an office suite", WayOut::Document},
    {"\x89PNG\r\n\x1a\n"sv, 0, "a PNG picture", WayOut::Picture},
    {"\xff\xd8\xff"sv, 0, "a JPEG picture", WayOut::Picture},
    {"GIF87a"sv, 0, "a GIF picture", WayOut::Picture},
    {"GIF89a"sv, 0, "a GIF picture", WayOut::Picture},
    {"II*\0"sv, 0, "a TIFF picture", WayOut::Picture},
    {"MM\0*"sv, 0, "a TIFF picture", WayOut::Picture},
    {"WEBP"sv, 8, "a WebP picture", WayOut::Picture},
    {"8BPS\0\1"sv, 0, "a Photoshop picture", WayOut::Picture},
    {"jP  \r\n\x87\n"sv, 4, "a JPEG 2000 picture", WayOut::Picture},
    {"wOF2"sv, 0, "a font", WayOut::Picture},
    {"wOFF"sv, 0, "a font", WayOut::Picture},
    {"OTTO\0"sv, 0, "a font", WayOut::Picture},
    {"FLV\1"sv, 0, "a Flash film", WayOut::Picture},
    {"WAVE"sv, 8, "a WAV recording", WayOut::Picture},
    {"AVI "sv, 8, "an AVI film", WayOut::Picture},
    {"ftyp"sv, 4, "an MP4 film or picture", WayOut::Picture},
    {"fLaC"sv, 0, "a FLAC recording", WayOut::Picture},
    {"OggS\0"sv, 0, "an Ogg recording", WayOut::Picture},
    {"ID3"sv, 0, "an MP3 recording", WayOut::Picture},
    {"\x1a\x45\xdf\xa3"sv, 0, "a Matroska film", WayOut::Picture},
    {"\x7f"
     "ELF"sv,
     0, "a program", WayOut::Program},
    {"\0asm"sv, 0, "a program", WayOut::Program},
    {"\xca\xfe\xba\xbe"sv, 0, "a program", WayOut::Program},
    {"\xcf\xfa\xed\xfe"sv, 0, "a program", WayOut::Program},
    {"\xfe\xed\xfa\xcf"sv, 0, "a program", WayOut::Program},
    {"MMIDIDX\0\0"sv, 0, "an index of Megatron-LM", WayOut::Array},
};

// Names that say what content does not: files without a signature, damaged ones, ids without a header.
struct Ending {
  std::string_view endings; // separated by spaces
  const char *name;
  WayOut way;
  const char *unpack = nullptr;
};
constexpr Ending endings[] = {
    {".gz .tgz", "a gzip file", WayOut::Unpack, "gzip -dc"},
    {".zst", "a zstd file", WayOut::Unpack, "zstd -dc"},
    {".xz .bz2 .lz4 .zip .7z .rar .tar", "an archive", WayOut::Unpack, nullptr},
    {".parquet .arrow .feather .avro .orc .h5 .hdf5 .mdb .tfrecord .tfrecords .mds .msgpack .db .sqlite .xls .xlsx",
     "a file of records", WayOut::Columns},
    {".csv .tsv", "a table", WayOut::Columns},
    {".npy .npz .pkl .pickle .joblib", "a file of arrays", WayOut::Array},
    {".pt .pth .ckpt .safetensors .gguf .onnx", "a file of weights", WayOut::Weights},
    {".pdf .doc .docx .odt .ppt .pptx .epub", "a document", WayOut::Document},
    {".png .jpg .jpeg .gif .bmp .tif .tiff .webp .mp3 .wav .flac .ogg .mp4 .avi .mkv .webm",
     "a picture, a recording or a film", WayOut::Picture},
    {".exe .so .o .a .dll .class .pyc", "a program", WayOut::Program},
};

std::string lowered(std::string text) {
  for (char &c : text)
    c = c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c;
  return text;
}

std::string endingOf(const std::string &path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  size_t dot = name.find_last_of('.');
  return dot == std::string::npos || dot == 0 ? "" : lowered(name.substr(dot));
}

bool isOneOf(const std::string &ending, std::string_view list) {
  return !ending.empty() && (" " + std::string(list) + " ").find(" " + ending + " ") != std::string::npos;
}

std::string wayOut(WayOut way, const char *unpack, const std::string &path) {
  switch (way) {
  case WayOut::Unpack:
    return unpack ? format("unpack it first, as by %s %s > text.txt", unpack, path.c_str()) : "unpack it first";
  case WayOut::Columns:
    return "write the texts that it holds to a file of plain text first";
  case WayOut::Array:
    return convertIds(path, nullptr);
  case WayOut::Weights:
    return "--weights reads weights; --data takes a text, or a file of token ids";
  case WayOut::Pointer:
    return "fetch the file that it stands for first, as by git lfs pull";
  case WayOut::Document:
    return "write its text to a file of plain text first";
  case WayOut::Picture:
  case WayOut::Program:
    return "--data takes a text, or a file of token ids";
  }
  return "";
}

// Control characters that no text has, whatever its encoding.
bool isNoCharacter(char c) {
  auto byte = uint8_t(c);
  return byte == 0x7f || (byte < 0x20 && !(byte >= '\b' && byte <= '\r') && byte != 0x1b);
}

template <typename T> T load(std::string_view content, size_t at) {
  T value{};
  if (at + sizeof value <= content.size())
    std::memcpy(&value, content.data() + at, sizeof value);
  return value;
}

// The length of a header of JSON comes before it.
bool isSafeTensors(std::string_view content) {
  auto length = load<uint64_t>(content, 0);
  return content.size() > 10 && length >= 2 && length <= content.size() - 8 && content[8] == '{' &&
         (content[9] == '"' || content[9] == '}' || content[9] == ' ');
}

// Protocols 2 to 5 begin with their number, a list or a dictionary of older ones with a mark and its place in the
// memory, and all end with a full stop.
bool isPickle(std::string_view content) {
  if (content.size() <= 4 || content.back() != '.')
    return false;
  bool isNumbered = content[0] == '\x80' && content[1] >= 2 && content[1] <= 5;
  std::string_view begin = content.substr(0, 5);
  return isNumbered || begin == "(lp0\n" || begin == "(dp0\n" || begin == "(lp1\n" || begin == "(dp1\n" ||
         begin.substr(0, 3) == "]q\0"sv || begin.substr(0, 3) == "}q\0"sv;
}

// Records behind their length and its checksum, one after the other: those at the beginning tell.
bool isTfRecord(std::string_view content) {
  constexpr uint64_t around = 16, most = uint64_t(1) << 30; // bytes of length and checksums; bytes of a record
  constexpr int enough = 3;
  uint64_t at = 0;
  int records = 0;
  for (; records < enough && at + around <= content.size(); ++records) {
    auto length = load<uint64_t>(content, at);
    if (length == 0 || length > most || length > content.size() - at - around)
      return false;
    at += around + length;
  }
  return records == enough || (records > 0 && at == content.size());
}

// A method and a level whose checksum is right, and bytes that are no text.
bool isZlib(std::string_view content) {
  std::string_view begin = content.substr(0, 64);
  return begin.size() > 8 && begin[0] == 'x' && (uint8_t(begin[0]) * 256 + uint8_t(begin[1])) % 31 == 0 &&
         std::count_if(begin.begin(), begin.end(), [](char c) { return isNoCharacter(c); }) > 1 &&
         std::count_if(begin.begin(), begin.end(), [](char c) { return uint8_t(c) >= 0x80; }) > 4;
}

// What the first name in a zip archive tells of all of it; null: nothing.
const Signature *kindOfZip(std::string_view content, const std::string &path) {
  static constexpr Signature arrays{"", 0, "an archive of NumPy arrays", WayOut::Array},
      weights{"", 0, "a file of weights of PyTorch", WayOut::Weights},
      document{"", 0, "a document of an office suite", WayOut::Document};
  std::string_view name = content.substr(std::min<size_t>(30, content.size()), load<uint16_t>(content, 26));
  auto ends = [&](std::string_view with) {
    return name.size() >= with.size() && name.substr(name.size() - with.size()) == with;
  };
  bool isDocument = name == "[Content_Types].xml" || name == "mimetype" || name.substr(0, 5) == "word/";
  return ends(".npy") || endingOf(path) == ".npz" ? &arrays
         : ends("/data.pkl")                      ? &weights
         : isDocument                             ? &document
                                                  : nullptr;
}

bool isBitmap(std::string_view content) {
  return content.substr(0, 2) == "BM" && content.size() > 26 && load<uint32_t>(content, 2) == content.size();
}

bool isWindowsProgram(std::string_view content) {
  auto at = size_t(load<uint32_t>(content, 0x3c));
  return content.substr(0, 2) == "MZ" && at < content.size() && content.substr(at, 4) == "PE\0\0"sv;
}

// Ids of tokens may begin with these bytes by chance where a signature is short: what follows it must fit, too.
bool fits(const Signature &signature, std::string_view content, bool asTokens) {
  if (content.size() < signature.at + signature.bytes.size() ||
      content.substr(signature.at, signature.bytes.size()) != signature.bytes)
    return false;
  std::string_view name = signature.name;
  auto at = [&](size_t index) { return index < content.size() ? uint8_t(content[index]) : uint8_t(0); };
  if (name == "a gzip file")
    return (at(3) & 0xe0) == 0 && (at(8) == 0 || at(8) == 2 || at(8) == 4) && (at(9) <= 13 || at(9) == 255);
  if (name == "a bzip2 file")
    return content.substr(0, 3) == "BZh";
  if (name == "an Arrow stream") // the length of a message, which begins with the place of its table
    return load<uint32_t>(content, 4) > 0 && load<uint32_t>(content, 4) < (1u << 24) &&
           load<uint32_t>(content, 8) > 0 && load<uint32_t>(content, 8) <= 64;
  if (name == "a parquet file" && !asTokens)
    return content.size() >= 12 && content.substr(content.size() - 4) == "PAR1";
  if (signature.at == 16) // what stands before it is a number of a page, and a version follows
    return load<uint32_t>(content, 20) == 1;
  if (signature.at == 8)
    return content.substr(0, 4) == "RIFF";
  if (name == "an MP4 film or picture")
    return content[0] == 0;
  if (name == "an MP3 recording")
    return at(3) >= 2 && at(3) <= 4;
  return !asTokens || signature.bytes.size() >= 4;
}

// Whether all lines but blank ones are JSON objects, or the content is one.
bool isJson(std::string_view content, bool isWhole, bool arrays) {
  auto isNested = [&](std::string_view text) {
    size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || (arrays && text[first] == '[')) &&
           nlohmann::json::accept(text);
  };
  size_t lines = 0;
  for (size_t begin = 0; begin < content.size();) {
    size_t end = content.find('\n', begin);
    if (end == std::string_view::npos && !isWhole)
      break;
    std::string_view line = content.substr(begin, end == std::string_view::npos ? end : end - begin);
    begin = end == std::string_view::npos ? content.size() : end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    if (!isNested(line))
      return isWhole && lines == 0 && isNested(content);
    ++lines;
  }
  return lines > 0;
}

// One list of many numbers, [1, 2, ...], or of lists of them.
bool isNumberList(std::string_view begin) {
  constexpr ptrdiff_t fewest = 64;
  if (begin.find_first_not_of("[]0123456789,.eE+- \t\r\n") != std::string_view::npos ||
      std::count(begin.begin(), begin.end(), ',') < fewest)
    return false;
  int depth = 0;
  for (size_t i = begin.find_first_not_of(" \t\r\n"); i < begin.size(); ++i) {
    depth += (begin[i] == '[') - (begin[i] == ']');
    if (depth == 0)
      return begin.find_first_not_of(" \t\r\n", i + 1) == std::string_view::npos;
  }
  return depth > 0;
}

// Numbers as ids are written, and nothing between them but white space or commas. Digits in groups of the same length,
// such as those of pi, are no ids: some begin with 0.
bool areWrittenIds(std::string_view begin, bool isWhole) {
  constexpr size_t fewest = 64, mostDigits = 10;
  constexpr std::string_view digits = "0123456789", between = " \t\r\n,";
  size_t count = 0;
  for (size_t at = begin.find_first_not_of(between); at != std::string_view::npos; ++count) {
    size_t end = std::min(begin.find_first_not_of(digits, at), begin.size());
    if (end == at || end - at > mostDigits || (begin[at] == '0' && end - at > 1))
      return false;
    if (end == begin.size() && !isWhole) // the rest of it may be elsewhere
      break;
    if (end < begin.size() && between.find(begin[end]) == std::string_view::npos)
      return false;
    at = begin.find_first_not_of(between, end);
  }
  return count >= fewest;
}

bool beginsWith(std::string_view text, std::string_view with) {
  return lowered(std::string(text.substr(0, with.size()))) == with;
}

// The markup language of a text of tags, by its beginning; null if the text is none.
const char *markup(std::string_view begin) {
  constexpr size_t fewest = 8; // tags
  if (begin.substr(0, 3) == "\xef\xbb\xbf")
    begin.remove_prefix(3);
  begin.remove_prefix(std::min(begin.find_first_not_of(" \t\r\n"), begin.size()));
  for (std::string_view tag : {"<!doctype html"sv, "<html"sv, "<head"sv, "<body"sv})
    if (beginsWith(begin, tag))
      return "HTML";
  if (beginsWith(begin, "<?xml"))
    return "XML";
  bool isTag = begin.size() > 1 && begin[0] == '<' &&
               (begin[1] == '!' || begin[1] == '?' || (begin[1] >= 'a' && begin[1] <= 'z') ||
                (begin[1] >= 'A' && begin[1] <= 'Z'));
  size_t opened = std::count(begin.begin(), begin.end(), '<'), closed = std::count(begin.begin(), begin.end(), '>');
  return isTag && opened >= fewest && closed * 2 > opened && begin.find("</") != std::string_view::npos ? "XML or HTML"
                                                                                                        : nullptr;
}

// Lines of one length, or one line, of the 64 characters of base64, as often as chance makes them: words have other
// shares of capitals and digits.
bool isBase64(std::string_view begin) {
  constexpr size_t fewest = 256;
  size_t length = std::min(begin.find('\n'), begin.size()), capitals = 0, small = 0, digits = 0, all = 0;
  for (size_t at = 0, next = length; at < begin.size();
       at = next + 1, next = std::min(begin.find('\n', at), begin.size()))
    if (next - at != length && next + 1 < begin.size())
      return false;
  for (char c : begin) {
    bool isCapital = c >= 'A' && c <= 'Z', isSmall = c >= 'a' && c <= 'z', isDigit = c >= '0' && c <= '9';
    capitals += isCapital, small += isSmall, digits += isDigit, all += c != '\n' && c != '\r';
    if (!isCapital && !isSmall && !isDigit && std::string_view("+/-_=\r\n").find(c) == std::string_view::npos)
      return false;
  }
  return all >= fewest && capitals > all / 5 && small > all / 5 && digits > all / 20;
}

// A text of four bytes a character, of which three are zero.
const char *wideText(std::string_view begin) {
  constexpr size_t fewest = 64;
  size_t zeros[4] = {};
  for (size_t i = 0; i < begin.size(); ++i)
    zeros[i % 4] += begin[i] == 0;
  size_t count = begin.size() / 4, most = count - count / 100, few = count / 100;
  if (begin.size() < fewest || zeros[1] + zeros[2] < 2 * most)
    return nullptr;
  return zeros[3] >= most && zeros[0] <= few ? "UTF-32LE" : zeros[0] >= most && zeros[3] <= few ? "UTF-32BE" : nullptr;
}

struct ZeroBytes {
  size_t even = 0, odd = 0, all = 0;
};

struct FileKind {
  const char *name;
  WayOut way;
  const char *unpack = nullptr;
};

// What the first bytes of a file tell that it is.
std::optional<FileKind> kindOf(std::string_view content, const std::string &path, bool asTokens) {
  for (const Signature &signature : signatures)
    if (fits(signature, content, asTokens)) {
      const Signature *inside =
          std::string_view(signature.name) == "a zip archive" ? kindOfZip(content, path) : nullptr;
      const Signature &told = inside ? *inside : signature;
      return FileKind{told.name, told.way, told.unpack};
    }
  if (isSafeTensors(content))
    return FileKind{"a safetensors file", WayOut::Weights};
  if (isTfRecord(content))
    return FileKind{"a file of records of TensorFlow", WayOut::Columns};
  if (!asTokens && isZlib(content))
    return FileKind{"a zlib file", WayOut::Unpack, "zlib-flate -uncompress <"};
  if (isPickle(content))
    return FileKind{"a pickled object of Python", WayOut::Array};
  if (isBitmap(content))
    return FileKind{"a BMP picture", WayOut::Picture};
  if (isWindowsProgram(content))
    return FileKind{"a program", WayOut::Program};
  return std::nullopt;
}

} // namespace

std::string foreignContent(std::string_view content, const std::string &path, bool asTokens) {
  std::optional<FileKind> kind = kindOf(content, path, asTokens);
  return !kind ? ""
               : path + " is " + kind->name + ", " + (asTokens ? "no list of token ids" : "no text") + ": " +
                     wayOut(kind->way, kind->unpack, path);
}

std::string foreignWeights(std::string_view content, const std::string &path) {
  std::optional<FileKind> kind = kindOf(content, path, /*asTokens=*/false);
  bool isText = !kind && isTextForIds(content);
  if ((!kind && !isText) || isSafeTensors(content))
    return "";
  std::string text = path + " is " + (kind ? kind->name : "a text") + ", no safetensors file: ";
  if (std::string_view("a file of weights of PyTorch") == (kind ? kind->name : ""))
    return text + "write its tensors as one first, as by safetensors.torch.save_file(torch.load(\"" + path +
           "\", weights_only=True), \"model.safetensors\")";
  if (kind && kind->way == WayOut::Pointer)
    return text + wayOut(kind->way, nullptr, path);
  return text + (kind && kind->way == WayOut::Unpack ? "unpack it first"
                                                     : "--weights takes a *.safetensors, or a folder that holds "
                                                       "model.safetensors or model.safetensors.index.json");
}

std::string foreignTokenizer(std::string_view content, const std::string &path) {
  std::optional<FileKind> kind = kindOf(content, path, /*asTokens=*/false);
  bool isPieces = content.size() > 9 && content[0] == '\n' && content.substr(4, 5) == "<unk>";
  if (!kind && !isPieces)
    return "";
  std::string text = path + " is " + (kind ? kind->name : "a model of SentencePiece") + ", no tokenizer.json: ";
  if (kind && kind->way == WayOut::Pointer)
    return text + wayOut(kind->way, nullptr, path);
  return text +
         (kind && kind->way == WayOut::Unpack
              ? "unpack it first"
              : "give the tokenizer.json of the model, of byte-level BPE, or a text whose tokens are made already");
}

std::string unlikelyText(std::string_view content, const std::string &path) {
  constexpr const char *asBytes = "; --data-format text trains on its bytes as they are";
  std::string_view begin = content.substr(0, lookedAt);
  std::string ending = endingOf(path);
  for (const Ending &one : endings)
    if (isOneOf(ending, one.endings))
      return path + " is " + one.name + " by its name: " + wayOut(one.way, one.unpack, path) + asBytes;
  bool wide = begin.substr(0, 4) == "\xff\xfe\0\0"sv || begin.substr(0, 4) == "\0\0\xfe\xff"sv;
  ZeroBytes zeros;
  for (size_t i = 0; i < begin.size(); ++i)
    if (begin[i] == 0)
      ++(i % 2 ? zeros.odd : zeros.even), ++zeros.all;
  size_t half = begin.size() / 2;
  bool little = zeros.odd > half / 4 && zeros.even <= half / 100,
       big = zeros.even > half / 4 && zeros.odd <= half / 100;
  auto utf = [&](const char *name) {
    return path + " is a text in " + name + ": write it in UTF-8 first, as by iconv -f " + name + " -t UTF-8 " + path +
           " > text.txt" + asBytes;
  };
  if (wide)
    return utf("UTF-32");
  if (const char *name = wideText(begin))
    return utf(name);
  if (begin.substr(0, 2) == "\xff\xfe"sv || begin.substr(0, 2) == "\xfe\xff"sv)
    return utf("UTF-16");
  bool printable = std::all_of(begin.begin(), begin.begin() + std::min<size_t>(begin.size(), 64), [](char c) {
    return c == 0 || c == '\n' || c == '\r' || c == '\t' || uint8_t(c) >= 32;
  });
  if ((little || big) && printable)
    return utf(little ? "UTF-16LE" : "UTF-16BE");
  if (size_t odd = std::count_if(begin.begin(), begin.end(), isNoCharacter); odd > begin.size() / 20)
    return path +
           format(
               " holds binary data, no text: %zu of its first %zu bytes are no characters: give --data-format uint16 "
               "or uint32 if it is a list of token ids",
               odd, begin.size()) +
           asBytes;
  if (begin.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos && !begin.empty())
    return path + " holds nothing but white space: give a text" + asBytes;
  if (areWrittenIds(begin, begin.size() == content.size()))
    return path +
           " holds nothing but whole numbers: if they are token ids, write them as numbers of 4 bytes first, as by " +
           "np.fromfile(\"" + path + "\", \"<u4\", sep=\"" + (begin.find(',') == std::string_view::npos ? " " : ",") +
           "\").tofile(\"ids.bin\") of NumPy" + asBytes;
  bool named = isOneOf(ending, ".jsonl .ndjson .json"sv);
  if (isNumberList(begin))
    return path +
           " is a list of numbers in JSON: if they are token ids, write them as numbers of 2 or 4 bytes first, as by " +
           "np.array(json.load(open(\"" + path + "\"))).astype(\"<u4\").tofile(\"ids.bin\") of NumPy" + asBytes;
  if (isJson(begin, begin.size() == content.size(), named))
    return path + " is JSON: write the texts that it holds to a file first, as by jq -r .text " + path + " > text.txt" +
           asBytes;
  if (named)
    return path + " is JSON by its name: write the texts that it holds to a file first" + asBytes;
  return "";
}

std::string textNote(std::string_view content, const std::string &path) {
  constexpr size_t enough = size_t(1) << 16;
  std::string_view begin = content.substr(0, enough);
  if (const char *name = markup(begin))
    return path + " looks like " + name + ": its tags are trained on as the rest of the text is";
  if (isBase64(begin))
    return path + " looks like base64: it is trained on as it is; base64 -d " + path + " > data writes what it encodes";
  return "";
}

bool isTextForIds(std::string_view content) {
  constexpr size_t fewest = 64, enough = 4096; // bytes: ids have other ones by then
  std::string_view begin = content.substr(0, enough);
  return begin.size() >= fewest && std::none_of(begin.begin(), begin.end(), isNoCharacter) &&
         begin.find_first_of(" \n") != std::string_view::npos &&
         size_t(std::count_if(begin.begin(), begin.end(), [](char c) { return uint8_t(c) >= 0x80; })) <
             begin.size() / 2;
}

bool areWiderIds(std::string_view content, int width) {
  bool some = false;
  constexpr size_t fewest = 8; // pairs, below which zeros may be chance
  size_t pairs = content.size() / (2 * width);
  if (pairs < fewest || content.size() % (2 * width))
    return false;
  for (size_t pair = 0; pair < pairs; ++pair) {
    const char *low = content.data() + pair * 2 * width, *high = low + width;
    if (std::any_of(high, high + width, [](char c) { return c != 0; }))
      return false;
    some |= std::any_of(low, low + width, [](char c) { return c != 0; });
  }
  return some;
}

std::string convertIds(const std::string &path, const char *type) {
  std::string load = type ? "np.fromfile(\"" + path + "\", \"" + type + "\")" : "np.load(\"" + path + "\")";
  return "write its token ids as numbers of 2 or 4 bytes and nothing else first, as by " + load +
         ".astype(\"<u4\").tofile(\"ids.bin\") of NumPy";
}

} // namespace ppcrt
