#include "runtime/launch/StoreAddress.h"
#include "runtime/base/Error.h"

#include <cctype>
#include <cstdlib>
#include <unistd.h>

namespace ppcrt {
namespace {

// Ports that no service has by default and no connection gets by itself.
constexpr int firstPort = 20000, portCount = 10000;

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

int portOf(const std::string &text, const std::string &from) {
  bool isPlain = text.find_first_not_of("0123456789") == std::string::npos && text.size() <= 5;
  long value = isPlain ? std::strtol(text.c_str(), nullptr, 10) : 0;
  if (value < 1 || value > 65535 || text[0] == '0')
    throw InputError(from + ": expected a port from 1 to 65535, found \"" + text + "\"");
  return int(value);
}

} // namespace

std::string firstNode(const std::string &list) {
  size_t open = list.find('['), comma = list.find(',');
  if (open == std::string::npos || comma < open)
    return list.substr(0, comma);
  size_t end = open + 1;
  while (end < list.size() && std::isdigit(static_cast<unsigned char>(list[end])))
    ++end;
  return end == open + 1 ? "" : list.substr(0, open) + list.substr(open + 1, end - open - 1);
}

tcp::Address storeAddress(const Options &options, const RankEnvironment &environment) {
  if (!options.store.empty()) {
    size_t colon = options.store.rfind(':');
    if (colon == std::string::npos || colon == 0)
      throw UsageError("--store: expected HOST:PORT, found \"" + options.store + "\"");
    return {options.store.substr(0, colon), portOf(options.store.substr(colon + 1), "--store")};
  }
  if (std::string host = variable("MASTER_ADDR"); !host.empty()) {
    std::string port = variable("MASTER_PORT");
    int number = port.empty() ? firstPort : portOf(port, "MASTER_PORT");
    bool isTaken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
    return {host, number + (isTaken && number < 65535)};
  }
  if (environment.kind == LauncherKind::Slurm) {
    std::string list = variable("SLURM_STEP_NODELIST"), node = firstNode(list);
    if (!node.empty()) {
      int64_t job = numberInEnvironment("SLURM_JOB_ID", UINT32_MAX).value_or(0),
              step = numberInEnvironment("SLURM_STEP_ID", UINT32_MAX).value_or(0);
      return {node, firstPort + int((job * 8 + step) % portCount)};
    }
  }
  if (environment.localSize == environment.size && environment.size > 0)
    return {"127.0.0.1", firstPort + int(getppid() % portCount)};
  throw InputError(environment.launcher +
                   " does not say where rank 0 is: give --store HOST:PORT, the same to all ranks");
}

} // namespace ppcrt
