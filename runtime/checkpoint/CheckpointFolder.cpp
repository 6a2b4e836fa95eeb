// Names of folders, and the order in which things become durable.
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <filesystem>
#include <functional>

namespace ppcrt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-", partial = ".partial";

// The step of "step-00000042"; -1 for other names.
int64_t stepOf(std::string_view name) {
  if (name.size() < prefix.size() + 1 || name.size() > prefix.size() + 15 || name.substr(0, prefix.size()) != prefix ||
      name.find_first_not_of("0123456789", prefix.size()) != std::string_view::npos)
    return -1;
  return std::stoll(std::string(name.substr(prefix.size())));
}

bool isPartial(std::string_view name) {
  size_t end = name.find('.');
  return end != std::string_view::npos && stepOf(name.substr(0, end)) >= 0 &&
         name.substr(name.size() - std::min(name.size(), partial.size())) == partial;
}

std::vector<std::string> names(const std::string &folder) {
  std::vector<std::string> result;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    result.push_back(entry->path().filename().string());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw InputError("cannot read the folder " + folder + ": " + failure.message());
  return result;
}

// What a rank of another machine has written may lie on a file system of that machine alone.
void readBack(const std::string &folder, const CheckpointIndex &index) {
  for (const CheckpointFile &file : index.files)
    if (std::error_code failure; !fs::exists(folder + "/" + file.name, failure))
      throw InputError(folder + "/" + file.name +
                       " has been written by its rank, and is not there for the first rank: the folder of checkpoints "
                       "must be on a file system that the machines of all ranks share");
  Checkpoint written(folder);
}

void removeAll(const std::string &path) {
  std::error_code failure;
  fs::remove_all(path, failure);
}

} // namespace

void CheckpointFolder::prepare() const {
  for (const std::string &name : names(path))
    if (isPartial(name))
      removeAll(path + "/" + name);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> result;
  for (const std::string &name : names(path))
    if (int64_t step = stepOf(name); step >= 0)
      result.push_back(step);
  std::sort(result.begin(), result.end(), std::greater<>());
  return result;
}

std::string CheckpointFolder::completePath(int64_t step) const {
  return path + "/" + std::string(prefix) + format("%08lld", (long long)step);
}

std::string CheckpointFolder::partialPath(int64_t step) const {
  return completePath(step) + (run ? format(".%llx", (unsigned long long)run) : "") + std::string(partial);
}

void CheckpointFolder::commit(const CheckpointIndex &index, int64_t keep) const {
  int64_t step = index.info.step;
  std::string from = partialPath(step), to = completePath(step);
  writeText(from + "/" + indexName, writeCheckpointIndex(index));
  syncFolder(from);
  readBack(from, index);
  // One of the same step is a damaged one that the run did not begin from, or the same once more.
  std::string replaced = to + ".replaced.partial";
  if (fs::exists(to) && exchangeNames(from, to)) {
    renameFile(from, replaced);
  } else {
    if (fs::exists(to))
      renameFile(to, replaced);
    renameFile(from, to);
  }
  syncFolder(path);
  removeAll(replaced);
  int64_t kept = 0;
  for (int64_t present : steps())
    if (present <= step && ++kept > keep) { // those of later steps were refused, or the run would have begun there
      renameFile(completePath(present), partialPath(present)); // half of a checkpoint must not look like one
      removeAll(partialPath(present));
    }
}

void CheckpointFolder::discard(int64_t step) const { removeAll(partialPath(step)); }

} // namespace ppcrt
