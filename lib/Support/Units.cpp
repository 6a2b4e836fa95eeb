// Human-readable quantities of the cost model.
#include "ppc/Support/Units.h"

#include <cmath>
#include <cstdio>

namespace mlir::ppc {

namespace {
struct Prefix {
  double size;
  const char *name;
};
} // namespace

/// Formats with the largest prefix that leaves at least one whole unit; the last prefix is for smaller values.
template <size_t count> static std::string format(double value, const Prefix (&prefixes)[count]) {
  const Prefix *chosen = &prefixes[count - 1];
  for (const Prefix &prefix : prefixes)
    if (std::abs(value) >= prefix.size) {
      chosen = &prefix;
      break;
    }
  char text[48];
  double scaled = value / chosen->size;
  // %.3g turns 1000 and above into an exponent, which only the largest prefix can meet.
  std::snprintf(text, sizeof text, std::abs(scaled) >= 999.5 ? "%.0f %s" : "%.3g %s", scaled, chosen->name);
  return text;
}

std::string toString(Bytes bytes) {
  static const Prefix prefixes[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"}};
  return format(bytes.value, prefixes);
}

std::string toString(Seconds time) {
  static const Prefix prefixes[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  return time.value == 0 ? "0 s" : format(time.value, prefixes);
}

} // namespace mlir::ppc
