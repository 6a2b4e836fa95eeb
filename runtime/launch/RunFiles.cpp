// Two lists of files, and what they have in common.
#include "runtime/launch/RunFiles.h"
#include "runtime/base/Error.h"
#include "runtime/files/FolderLock.h"
#include "runtime/launch/RunInputs.h"
#include "runtime/run/Options.h"

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ppcrt {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string option, path; // path as given, or of a file that comes with it
  bool exists = false;
  struct stat status{};
  std::string canonical; // links followed as far as there are files

  NamedFile(std::string option, std::string path) : option(std::move(option)), path(std::move(path)) {
    exists = stat(this->path.c_str(), &status) == 0;
    std::error_code failure;
    canonical = fs::weakly_canonical(fs::absolute(this->path, failure), failure).string();
  }
  bool isRegular() const { return exists && S_ISREG(status.st_mode); }
  bool isFolder() const { return exists && S_ISDIR(status.st_mode); }
  // Whether what is written there stays nowhere.
  bool isNowhere() const { return exists && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)); }
};

bool isSame(const NamedFile &a, const NamedFile &b) {
  if (a.exists && b.exists)
    return a.status.st_dev == b.status.st_dev && a.status.st_ino == b.status.st_ino;
  return !a.exists && !b.exists && a.canonical == b.canonical;
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    names.push_back(entry->path().filename().string());
  return names;
}

bool begins(const std::string &text, const std::string &start) { return text.compare(0, start.size(), start) == 0; }

class RunFiles {
public:
  explicit RunFiles(const Options &options) : options(options) {
    findInputs();
    findOutputs();
  }

  void check() const {
    for (const NamedFile &output : outputs)
      for (const NamedFile &input : inputs)
        if (!output.isNowhere() && isSame(output, input))
          throw InputError(format("%s %s: this is %s, which would be destroyed: give another name",
                                  output.option.c_str(), output.path.c_str(), describe(input).c_str()));
    for (size_t i = 0; i < outputs.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (!outputs[i].isNowhere() && isSame(outputs[i], outputs[k]) && outputs[i].option != outputs[k].option)
          throw InputError(format("%s and %s would both write %s: give them different names", outputs[k].option.c_str(),
                                  outputs[i].option.c_str(), outputs[i].path.c_str()));
    checkKinds();
    checkCheckpoints();
  }

private:
  std::string describe(const NamedFile &input) const {
    if (input.option.empty())
      return "this program itself";
    bool isConfig = input.option == "--weights" && input.path == configOfWeights(options.weights);
    return (isConfig ? "the configuration of what " : "what ") + input.option + " reads";
  }

  void addInput(const std::string &option, const std::string &path) {
    if (!path.empty())
      inputs.emplace_back(option, path);
  }

  void findInputs() {
    addInput("", "/proc/self/exe");
    addInput("--weights", options.weights);
    addInput("--weights", configOfWeights(options.weights));
    for (const RunInput &input : runInputs(options))
      if (input.option != "--checkpoint-dir")
        addInput(input.option, input.path);
    for (const std::string &name : namesIn(options.checkpointDir))
      if (begins(name, "step-"))
        for (const std::string &file : namesIn(options.checkpointDir + "/" + name))
          addInput("--checkpoint-dir", options.checkpointDir + "/" + name + "/" + file);
  }

  void addOutput(const std::string &option, const std::string &path) {
    if (!path.empty())
      outputs.emplace_back(option, path);
  }

  void findOutputs() {
    addOutput("--log", options.log);
    addOutput("--save-losses", options.saveLosses);
    addOutput("--trace", options.trace);
    addOutput("--profile", options.profile);
    addOutput("--save-durations", options.saveDurations);
    addOutput("--save-parameters", options.saveParameters);
    addOutput("--save-gradients", options.saveGradients);
    addOutput("--save-tokens", options.saveTokens);
    folders = outputs.size();
    addOutput("--save-weights", options.saveWeights);
    addOutput("--checkpoint-dir", options.checkpointDir);
    foldersEnd = outputs.size();
    if (!options.checkpointDir.empty())
      addOutput("--checkpoint-dir", options.checkpointDir + "/" + FolderLock::fileName);
    if (options.saveWeights.empty())
      return;
    for (const char *name : {"config.json", "model.safetensors", "model.safetensors.index.json"})
      addOutput("--save-weights", options.saveWeights + "/" + name);
    for (const std::string &name : namesIn(options.saveWeights))
      if (begins(name, "model-"))
        addOutput("--save-weights", options.saveWeights + "/" + name);
  }

  void checkKinds() const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const NamedFile &output = outputs[i];
      bool folder = i >= folders && i < foldersEnd;
      if (!output.exists || (folder ? output.isFolder() : output.isNowhere()))
        continue;
      if (!folder && output.isRegular() && access(output.path.c_str(), W_OK) != 0)
        throw InputError(output.option + ": " + withErrno("cannot write " + output.path));
      if (!folder && output.isRegular())
        continue;
      throw InputError(format("%s: cannot write %s: %s", output.option.c_str(), output.path.c_str(),
                              folder              ? "it is no folder"
                              : output.isFolder() ? "it is a folder"
                                                  : "it is not a regular file"));
    }
  }

  // What lies in a checkpoint belongs to it: the folder goes when the checkpoint is old.
  void checkCheckpoints() const {
    if (options.checkpointDir.empty())
      return;
    std::string folder = NamedFile("", options.checkpointDir).canonical + "/";
    auto refuse = [&](const NamedFile &file) {
      if (!begins(file.canonical, folder) || file.option == "--checkpoint-dir")
        return;
      std::string inside = file.canonical.substr(folder.size());
      if (begins(inside, "step-") || begins(inside, FolderLock::fileName))
        throw InputError(format("%s %s: names that begin so belong to the checkpoints of --checkpoint-dir, which come "
                                "and go: give another place",
                                file.option.c_str(), file.path.c_str()));
    };
    for (const NamedFile &output : outputs)
      refuse(output);
    for (const NamedFile &input : inputs)
      refuse(input);
  }

  const Options &options;
  std::vector<NamedFile> inputs, outputs;
  size_t folders = 0, foldersEnd = 0; // which of the outputs are folders
};

} // namespace

void checkRunFiles(const Options &options) { RunFiles(options).check(); }

} // namespace ppcrt
