// checkpoint.json and the metadata of the ranks' files: to text and back.
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace ppcrt {
namespace {

using nlohmann::json;

constexpr int formatVersion = 2; // 1 had no identity of the run
constexpr int64_t countLimit = int64_t(1) << 46;

// Seeds have 64 bits: more than a JSON number holds safely.
uint64_t readSeed(const JsonValue &value) {
  std::string text = value.string();
  if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string::npos)
    value.fail("expected a decimal number");
  return std::stoull(text);
}

uint32_t readChecksum(const JsonValue &value) {
  return uint32_t(value.integer(0, std::numeric_limits<uint32_t>::max()));
}

Facts readFacts(const JsonValue &value) {
  Facts facts;
  for (const auto &[name, text] : value.members())
    facts[name] = text.string();
  return facts;
}

CheckpointIndex readIndex(const JsonValue &top) {
  int64_t version = top.at("format").integer(1);
  if (version > formatVersion)
    top.at("format").fail(format("this program reads checkpoints up to format %d", formatVersion));
  CheckpointIndex index;
  CheckpointInfo &info = index.info;
  info.step = top.at("step").integer(0, countLimit);
  info.model = top.at("model").string();
  info.sequenceLength = top.at("sequence_length").integer(1);
  info.globalBatch = top.at("global_batch").integer(1);
  info.seed = readSeed(top.at("seed"));
  info.learningRate = top.at("learning_rate").number();
  info.minimumLearningRate = top.at("minimum_learning_rate").number();
  info.warmup = top.at("warmup").integer(0);
  info.steps = top.at("steps").integer(1);
  info.data = top.at("data").string();
  info.dataBytes = top.at("data_bytes").integer(0);
  info.order = top.at("order").string();
  if (version > 1) {
    info.identity.mathematics = readFacts(top.at("mathematics"));
    info.identity.circumstances = readFacts(top.at("circumstances"));
  }
  for (const JsonValue &item : top.at("files").list()) {
    CheckpointFile file{item.at("name").string(), item.at("bytes").integer(0),
                        readChecksum(item.at("header_checksum"))};
    if (file.name.empty() || file.name.find('/') != std::string::npos)
      item.at("name").fail("\"" + file.name + "\" is not the name of a file in the same folder");
    index.files.push_back(std::move(file));
  }
  return index;
}

StoredBlock readBlock(const JsonValue &value, const StoredTensor &tensor) {
  StoredBlock block{value.at("logical_shape").shape(), {}, tensor.shape, {}};
  for (const JsonValue &first : value.at("start").list())
    block.start.push_back(first.integer(0));
  size_t rank = block.logicalShape.size();
  if (block.start.size() != rank || block.shape.size() != rank)
    value.fail(format("a block of %zu dimensions that begins in %zu does not lie in a tensor of %zu",
                      block.shape.size(), block.start.size(), rank));
  for (size_t d = 0; d < rank; ++d)
    if (block.start[d] > block.logicalShape[d] - block.shape[d])
      value.fail("the block " + showShape(block.shape) + " at " + showShape(block.start) +
                 " does not lie in its tensor of " + showShape(block.logicalShape));
  for (const JsonValue &checksum : value.at("checksums").list())
    block.checksums.push_back(readChecksum(checksum));
  int64_t chunks = (tensor.end - tensor.begin + checkpointChunkBytes - 1) / checkpointChunkBytes;
  if (int64_t(block.checksums.size()) != chunks)
    value.at("checksums").fail(format("%zu values for %lld chunks", block.checksums.size(), (long long)chunks));
  return block;
}

} // namespace

std::string rankFileName(int64_t rank) { return format("rank-%05lld.safetensors", (long long)rank); }

std::string checkpointName(const Buffer &buffer) {
  return buffer.role == Role::State ? buffer.name + "@" + buffer.state : buffer.name;
}

std::string writeCheckpointIndex(const CheckpointIndex &index) {
  const CheckpointInfo &info = index.info;
  json document = {{"format", formatVersion},
                   {"step", info.step},
                   {"model", info.model},
                   {"sequence_length", info.sequenceLength},
                   {"global_batch", info.globalBatch},
                   {"seed", std::to_string(info.seed)},
                   {"learning_rate", info.learningRate},
                   {"minimum_learning_rate", info.minimumLearningRate},
                   {"warmup", info.warmup},
                   {"steps", info.steps},
                   {"data", info.data},
                   {"data_bytes", info.dataBytes},
                   {"order", info.order},
                   {"mathematics", info.identity.mathematics},
                   {"circumstances", info.identity.circumstances},
                   {"files", json::array()}};
  for (const CheckpointFile &file : index.files)
    document["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"header_checksum", file.headerChecksum}});
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  document["checksum"] = crc32c(text.data(), text.size());
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

CheckpointIndex parseCheckpointIndex(std::string_view text, const std::string &path) {
  json document = parseJson(text, path);
  uint32_t expected = readChecksum(JsonValue(document, path).at("checksum"));
  json plain = document;
  plain.erase("checksum");
  std::string content = plain.dump(-1, ' ', false, json::error_handler_t::replace);
  if (crc32c(content.data(), content.size()) != expected)
    throw InputError(path + ": the checksum is wrong: the file was changed or damaged");
  return readIndex(JsonValue(document, path));
}

std::string writeBlocks(const std::map<std::string, StoredBlock> &blocks) {
  json document = json::object();
  for (const auto &[name, block] : blocks)
    document[name] = {{"logical_shape", block.logicalShape}, {"start", block.start}, {"checksums", block.checksums}};
  return document.dump();
}

std::map<std::string, StoredBlock> parseBlocks(const SafeTensorsHeader &header, const std::string &path) {
  auto text = header.metadata.find("blocks");
  if (text == header.metadata.end())
    throw InputError(path + ": the metadata holds no \"blocks\": this is no file of a checkpoint");
  json document = parseJson(text->second, path + ": blocks");
  JsonValue list(document, path + ": blocks");
  std::map<std::string, StoredBlock> blocks;
  for (const StoredTensor &tensor : header.tensors)
    blocks[tensor.name] = readBlock(list.at(tensor.name.c_str()), tensor);
  return blocks;
}

} // namespace ppcrt
