#include "runtime/executor/OperationProfile.h"
#include "runtime/base/Error.h"
#include "runtime/executor/RankContext.h"
#include "runtime/files/File.h"
#include "runtime/program/Manifest.h"
#include "runtime/transport/Transport.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ppcrt {

void OperationProfile::begin(int64_t next) {
  double time = now();
  add(running, time - since);
  running = next;
  since = time;
}

void OperationProfile::add(int64_t operation, double elapsed) {
  if (operation < 0 || operation >= int64_t(seconds.size()))
    return;
  seconds[size_t(operation)] += elapsed;
  calls[size_t(operation)] += 1;
}

void OperationProfile::restart() {
  std::fill(seconds.begin(), seconds.end(), 0);
  std::fill(calls.begin(), calls.end(), 0);
  running = -1;
}

void OperationProfile::write(const Manifest &manifest, Transport &transport, const std::string &path, int64_t steps,
                             double stepSeconds) {
  for (std::vector<double> *values : {&seconds, &calls})
    transport.allReduce(Transport::everyRank, values->data(), int64_t(values->size()), DataType::F64, Reduction::Sum);
  if (transport.rank() != 0)
    return;
  auto ranks = double(transport.rankCount());
  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  for (size_t i = 0; i < seconds.size(); ++i)
    operations.push_back({{"name", manifest.operations[i].name},
                          {"calls", calls[i] / ranks},
                          {"seconds", seconds[i] / ranks},
                          {"flops", manifest.operations[i].flops},
                          {"bytes", manifest.operations[i].bytes}});
  NewFile file(path);
  file.append(
      nlohmann::ordered_json{
          {"ranks", transport.rankCount()}, {"steps", steps}, {"seconds", stepSeconds}, {"operations", operations}}
          .dump(1) +
      "\n");
  file.commit();
}

} // namespace ppcrt
