// Texts of all ranks, side by side.
#include "runtime/launch/RankAgreement.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/host/BatchedProduct.h"
#include "runtime/launch/InputDigests.h"
#include "runtime/launch/RunInputs.h"
#include "runtime/run/RunIdentity.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

namespace ppcrt {
namespace {

// Of libraries that compute, in which order sums are formed and in which precision. What names devices, cores or
// addresses may differ from rank to rank, and what only prints.
constexpr const char *decidingVariables[] = {"CUBLAS_WORKSPACE_CONFIG",
                                             "DNNL_CPU_ISA_HINTS",
                                             "DNNL_DEFAULT_FPMATH_MODE",
                                             "DNNL_MAX_CPU_ISA",
                                             "GLIBC_TUNABLES",
                                             "NCCL_ALGO",
                                             "NCCL_BUFFSIZE",
                                             "NCCL_MAX_NCHANNELS",
                                             "NCCL_MIN_NCHANNELS",
                                             "NCCL_NTHREADS",
                                             "NCCL_PROTO",
                                             "NVIDIA_TF32_OVERRIDE",
                                             "OMP_DYNAMIC",
                                             "OMP_THREAD_LIMIT",
                                             "ONEDNN_CPU_ISA_HINTS",
                                             "ONEDNN_DEFAULT_FPMATH_MODE",
                                             "ONEDNN_MAX_CPU_ISA"};

void addProgram(const ppcrt_program &program, const Manifest &manifest, std::vector<RunFact> &facts) {
  auto add = [&](const char *name, const std::string &value) { facts.push_back({name, value, value}); };
  add("layout of the program", layoutName(manifest));
  add("model of the program",
      format("%s (manifest of %llu bytes, checksum %08x)", manifest.model.c_str(),
             (unsigned long long)program.manifest_size, crc32c(program.manifest, program.manifest_size)));
  add("oneDNN", productLibrary());
}

// Of files that options name, the content counts and not the path.
void addOptions(const Options &options, const std::vector<RunInput> &inputs, std::vector<RunFact> &facts) {
  for (const OptionValue &option : optionValues(options)) {
    bool isFile = std::any_of(inputs.begin(), inputs.end(),
                              [&](const RunInput &input) { return input.option == option.name && input.part.empty(); });
    if (option.mayDiffer || isFile)
      continue;
    std::string value = option.value.empty() ? "not given" : option.value;
    facts.push_back({option.name, option.namesInput && !option.value.empty() ? "given" : value, value});
  }
}

void addInputs(const std::vector<RunInput> &inputs, const InputDigests &digests, std::vector<RunFact> &facts) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const RunInput &input = inputs[i];
    std::string content = digests.describe(i), path = input.path;
    std::error_code failure;
    if (input.option == "program")
      path = std::filesystem::read_symlink(path, failure).string();
    // A name decides with its ending what a file is taken for.
    facts.push_back({input.option + (input.part.empty() ? "" : " " + input.part),
                     content + " " + std::filesystem::path(input.path).extension().string(), path + ": " + content});
  }
}

void addEnvironment(std::vector<RunFact> &facts) {
  for (const char *name : decidingVariables) {
    const char *value = std::getenv(name);
    std::string text = value ? format("\"%s\"", value) : "not set";
    facts.push_back({std::string("environment variable ") + name, text, text});
  }
}

std::string pack(const std::vector<RunFact> &facts) {
  std::string text = hostName() + '\0';
  for (const RunFact &fact : facts)
    for (const std::string *part : {&fact.name, &fact.compared, &fact.shown})
      text += *part + '\0';
  return text;
}

struct RankFacts {
  std::string host;
  std::map<std::string, RunFact> facts;
};

RankFacts unpack(const std::string &text, std::vector<std::string> &names) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size(); at += parts.back().size() + 1)
    parts.emplace_back(text.c_str() + at);
  RankFacts result{parts.front(), {}};
  for (size_t i = 1; i + 2 < parts.size(); i += 3) {
    if (std::find(names.begin(), names.end(), parts[i]) == names.end())
      names.push_back(parts[i]);
    result.facts[parts[i]] = {parts[i], parts[i + 1], parts[i + 2]};
  }
  return result;
}

// "rank 1 on node2", "ranks 1-7, 9, the first on node2".
std::string showRanks(const std::vector<int> &ranks, const std::vector<RankFacts> &all) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]) + (end > i ? "-" + std::to_string(ranks[end]) : "");
    i = end + 1;
  }
  bool several = ranks.size() > 1;
  return (several ? "ranks " : "rank ") + text + (several ? ", the first on " : " on ") + all[ranks.front()].host;
}

// One line of a fact that differs; empty where it does not.
std::string difference(const std::string &name, const std::vector<RankFacts> &all) {
  struct Value {
    std::string compared, shown;
    std::vector<int> ranks;
  };
  std::vector<Value> values; // the first ranks first
  for (size_t rank = 0; rank < all.size(); ++rank) {
    auto found = all[rank].facts.find(name);
    RunFact fact = found == all[rank].facts.end() ? RunFact{name, "", "nothing"} : found->second;
    auto same =
        std::find_if(values.begin(), values.end(), [&](const Value &value) { return value.compared == fact.compared; });
    if (same == values.end())
      same = values.insert(values.end(), {fact.compared, fact.shown, {}});
    same->ranks.push_back(int(rank));
  }
  if (values.size() == 1)
    return "";
  constexpr size_t most = 4;
  std::string text = "\n  " + name + ": ";
  for (size_t i = 0; i < std::min(most, values.size()); ++i)
    text += (i ? "; " : "") + values[i].shown + " in " + showRanks(values[i].ranks, all);
  return values.size() > most ? text + format("; and %zu more", values.size() - most) : text;
}

} // namespace

std::vector<RunFact> startFacts(RankLink &link, const ppcrt_program &program, const Manifest &manifest,
                                const Options &options) {
  std::vector<RunInput> inputs = runInputs(options);
  inputs.insert(inputs.begin(), {"program", "", "/proc/self/exe"});
  InputDigests digests(inputs, link);
  std::vector<RunFact> facts;
  addProgram(program, manifest, facts);
  addOptions(options, inputs, facts);
  addInputs(inputs, digests, facts);
  addEnvironment(facts);
  return facts;
}

void checkAlike(RankLink &link, const std::vector<RunFact> &mine) {
  std::string compared;
  for (const RunFact &fact : mine)
    compared += fact.name + '\0' + fact.compared + '\0';
  auto digest = int64_t(std::hash<std::string>()(compared) >> 1);
  if (-link.smallest(-digest) == link.smallest(digest))
    return;
  std::vector<std::string> names;
  std::vector<RankFacts> all;
  for (const std::string &text : link.allTexts(pack(mine)))
    all.push_back(unpack(text, names));
  std::string differences;
  for (const std::string &name : names)
    differences += difference(name, all);
  throw InputError("the ranks were not started alike, and would compute what none of them was asked for:" +
                   differences + "\nGive all ranks the same program, options, files and environment");
}

} // namespace ppcrt
