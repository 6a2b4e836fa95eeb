// Parameters from safetensors files: a file, or a folder with model.safetensors or model.safetensors.index.json. All
// headers are checked against the program before a rank exists; then each rank reads the bytes of its own blocks, and
// no others, through mappings that all ranks share.
#pragma once

#include "runtime/program/Manifest.h"
#include "runtime/weights/QuantizedTensor.h"
#include "runtime/weights/SafeTensors.h"

#include <memory>

namespace ppcrt {

class WeightFiles {
public:
  // In a folder: the only file, or the index of several.
  static constexpr const char *singleFile = "model.safetensors", *indexFile = "model.safetensors.index.json";

  // Throws InputError: files that are absent or damaged; tensors that are missing, that the model does not have, that
  // are in two files, or whose shape or type does not fit, by name, with what is found and what is expected; two ways
  // to store a parameter that are both there and differ; quantised tensors without the scales that they need; a folder
  // whose config.json is of another model.
  WeightFiles(const std::string &path, const Manifest &manifest);

  // Fills the block of a parameter's buffer, padding with zeros; returns how many bytes of the files it has read.
  // Throws InputError when a value is not finite, by tensor and index.
  int64_t load(const Buffer &buffer, const Block &block, std::byte *data) const;

  // Which tensors of the files are not read, and why, and how many are dequantised; empty when there are none.
  std::string note() const;

  int64_t tensorCount() const { return int64_t(segmentCount); }
  int64_t bytes() const { return totalBytes; } // of the tensors that the model uses

private:
  // Elements [begin, begin + count) of a parameter are those of a tensor from `first` on, in the order that is given.
  struct Segment {
    int64_t begin, count, first;
    const SafeTensorsFile *file;
    const StoredTensor *tensor;
    const QuantizedTensor *quantized;
    ElementOrder order;

    // Where the tensor holds the element `inside` of the segment.
    int64_t position(int64_t inside) const { return first + (order.isSame() ? inside : order.position(inside)); }
    // `length` elements of the segment from `inside` on, to element `at` of `out`.
    void read(int64_t inside, std::byte *out, DataType type, int64_t at, int64_t length) const;

  private:
    // Elements of the tensor from `from` on, `step` apart.
    void readApart(int64_t from, int64_t step, std::byte *out, DataType type, int64_t at, int64_t length) const;
    void readRow(int64_t from, std::byte *out, DataType type, int64_t at, int64_t length) const;
  };
  struct Place {
    const SafeTensorsFile *file;
    const StoredTensor *tensor;
    const QuantizedTensor *quantized = nullptr; // of which `tensor` is the logical one
  };

  void openAll(const std::string &path);
  void openIndex(const std::string &folder, const std::string &index);
  void open(const std::string &path);
  void placeAll();
  void dequantize(const std::string &folder, const WeightMap &weights);
  std::string showPresent() const;
  void resolve(const Manifest &manifest);
  const Place *find(const std::string &name) const;
  const WeightParts *choose(const std::vector<WeightParts> &ways, const std::vector<int64_t> &whole,
                            std::vector<std::string> &missing) const;
  void checkFit(const Place &place, const std::vector<int64_t> &shape) const;
  bool isComplete(const WeightParts &way) const;
  // Whether all its tensors, which are there, have the shapes that it says.
  bool fits(const WeightParts &way, const std::vector<int64_t> &whole) const;
  // Of a way that is complete, by `begin`; `whole` is the parameter's own shape, in which a tensor of all of it may be.
  std::vector<Segment> segmentsOf(const WeightParts &way, const std::vector<int64_t> &whole);
  static void readLogical(const std::vector<Segment> &list, int64_t logical, int64_t count, double *values);
  static void checkSame(const std::vector<Segment> &read, const std::vector<Segment> &other, int64_t elements);
  void checkExtra(const Manifest &manifest);
  std::string firstFile() const;

  std::string source;
  std::string prefix; // that the files leave out
  std::vector<std::unique_ptr<SafeTensorsFile>> files;
  std::map<std::string, Place> places; // by the name without what files of several parts have before it
  std::vector<std::unique_ptr<QuantizedTensor>> quantized;
  std::vector<std::string> otherParts; // tensors of towers for pictures and of what joins them to the text
  std::map<std::string, bool> used;
  std::vector<std::string> ignored;           // names of tensors that are there and not read
  std::vector<std::vector<Segment>> segments; // [parameter], by `begin`
  size_t segmentCount = 0;
  int64_t totalBytes = 0;
};

} // namespace ppcrt
