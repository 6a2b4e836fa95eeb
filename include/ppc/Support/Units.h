// Quantities of the cost model as distinct types: seconds cannot be added to bytes, and a division has the right type.
// All are doubles in the base unit (bytes, seconds, bytes/s, FLOP, FLOP/s): 2^53 bytes is more than any machine has.
#ifndef PPC_SUPPORT_UNITS_H
#define PPC_SUPPORT_UNITS_H

#include <string>

namespace mlir::ppc {

template <typename Unit> struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value(value) {}

  constexpr Quantity &operator+=(Quantity other) { return value += other.value, *this; }
  constexpr Quantity &operator-=(Quantity other) { return value -= other.value, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value == b.value; }
  friend constexpr bool operator!=(Quantity a, Quantity b) { return a.value != b.value; }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value < b.value; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value <= b.value; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value > b.value; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value >= b.value; }
};

using Bytes = Quantity<struct BytesUnit>;
using Seconds = Quantity<struct SecondsUnit>;
using Flops = Quantity<struct FlopsUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) { return Seconds(bytes.value / rate.value); }
constexpr Seconds operator/(Flops flops, FlopsPerSecond rate) { return Seconds(flops.value / rate.value); }
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) { return BytesPerSecond(bytes.value / time.value); }
constexpr FlopsPerSecond operator/(Flops flops, Seconds time) { return FlopsPerSecond(flops.value / time.value); }

/// Human-readable, three significant digits: "1.5 GiB", "731 B".
std::string toString(Bytes bytes);
/// "12.3 ms", "4.56 us", "90 s".
std::string toString(Seconds time);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_UNITS_H
