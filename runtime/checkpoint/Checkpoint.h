// A checkpoint on disk: a folder step-00000042 with one safetensors file for each rank that wrote it and
// checkpoint.json. What is stored are blocks of logical tensors, so any layout can read what any other has written.
// docs/guide/Checkpoints.md describes the form.
#pragma once

#include "runtime/program/Manifest.h"
#include "runtime/run/RunIdentity.h"
#include "runtime/weights/SafeTensors.h"

#include <memory>
#include <string>
#include <vector>

namespace ppcrt {

// How far a run has come, and what its next steps depend on besides the tensors.
struct CheckpointInfo {
  int64_t step = 0; // the last one that is done
  std::string model;
  int64_t sequenceLength = 0, globalBatch = 0;
  uint64_t seed = 0;
  double learningRate = 0, minimumLearningRate = 0;
  int64_t warmup = 0, steps = 0;
  std::string data;      // --data; empty: random tokens
  int64_t dataBytes = 0; // 0: not known
  std::string order;     // --order: which samples a step gets
  RunIdentity identity;  // empty in checkpoints of format 1, which did not say
};

// "rank-00003.safetensors"
std::string rankFileName(int64_t rank);

// What checkpoint.json says of a rank's file.
struct CheckpointFile {
  std::string name;
  int64_t bytes = 0;
  uint32_t headerChecksum = 0; // of the bytes before the first tensor
};

struct CheckpointIndex {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
};

// The text of checkpoint.json, with a checksum of its own.
std::string writeCheckpointIndex(const CheckpointIndex &index);
// Throws InputError that begins with `path`.
CheckpointIndex parseCheckpointIndex(std::string_view text, const std::string &path);

// The name under which a checkpoint stores a parameter or a state: "NAME", "NAME@STATE".
std::string checkpointName(const Buffer &buffer);

// The blocks of a rank's file, as its metadata "blocks" lists them: a box of a logical tensor, whose bytes are those of
// the stored tensor, cut into chunks with a checksum each.
struct StoredBlock {
  std::vector<int64_t> logicalShape, start, shape;
  std::vector<uint32_t> checksums; // of each chunk
};
inline constexpr int64_t checkpointChunkBytes = int64_t(1) << 20;
std::string writeBlocks(const std::map<std::string, StoredBlock> &blocks);
// Throws InputError that begins with `path` unless every tensor of the file has a block that fits it.
std::map<std::string, StoredBlock> parseBlocks(const SafeTensorsHeader &header, const std::string &path);

// A checkpoint that is read.
class Checkpoint {
public:
  // Reads everything but the tensors. Throws InputError when something is damaged or absent.
  explicit Checkpoint(const std::string &folder);

  const std::string &folder() const { return path; }
  const CheckpointInfo &info() const { return index.info; }

  // Throws InputError when the program is another model: tensors missing or too many, shapes or types that differ.
  void checkFits(const Manifest &manifest) const;

  // Fills the block of a parameter's or state's buffer; returns how many bytes of the files it has read, checksums
  // included. Throws InputError when a checksum is wrong.
  int64_t load(const Buffer &buffer, const Block &block, std::byte *data) const;

private:
  struct Part {
    const SafeTensorsFile *file;
    const StoredTensor *tensor;
    StoredBlock block;
  };
  struct Tensor {
    std::string type;
    std::vector<int64_t> shape;
    std::vector<Part> parts;
  };

  void addFile(const CheckpointFile &file);
  int64_t copy(const Part &part, const Buffer &buffer, const Block &block, std::byte *data, int64_t &readBytes) const;

  std::string path;
  CheckpointIndex index;
  std::vector<std::unique_ptr<SafeTensorsFile>> files;
  std::map<std::string, Tensor> tensors;
};

} // namespace ppcrt
