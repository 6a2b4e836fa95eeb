// The routines of a program for GPUs as data: bodies, which are lists of what is issued one after the other, and the
// kernels and constants that these use. docs/internals/Runtime.md describes the JSON form.
#pragma once

#include "runtime/program/TargetCode.h"
#include "runtime/transport/Transport.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ppcrt {

// A tensor map of bf16 that a kernel gets as a parameter, behind the others: of the buffer that is an operand, boxes of
// which are copied into shared memory with 128-byte swizzling. The fastest dimension comes first.
struct TensorMap {
  int operand;
  std::vector<int64_t> sizes;   // elements
  std::vector<int64_t> strides; // bytes, from the second dimension on
  std::vector<int64_t> box;     // elements
};

// How a kernel is launched where its code is that of the image of one chip, "sm_90a".
struct ChipLaunch {
  std::string chip;
  int64_t blocks, threads, sharedBytes;
  std::vector<TensorMap> maps;
};

// How a kernel of the images is launched: always on one grid of one dimension.
struct Kernel {
  std::string name; // of the symbol; unique
  int64_t blocks, threads;
  int64_t parameters;            // of 8 bytes
  int64_t sharedBytes;           // of dynamic shared memory
  std::vector<ChipLaunch> chips; // that do it in another way
};

struct Constant {
  std::string name; // unique
  int64_t bytes;
};

// Where something lies: `bytes` behind the beginning of an argument of the body, or of a constant.
struct CodePlace {
  bool isConstant = false;
  int number = 0;
  int64_t bytes = 0;
};

// An operand of a kernel, 8 bytes: an address, or the rank's index in a group.
struct KernelOperand {
  CodePlace place;
  int group = -1; // at least 0: the index in it, as ppcrt_coordinate gives it
};

struct KernelLaunch {
  int kernel;
  std::vector<KernelOperand> operands;
};

// What a product does with its sums before it stores them; `hasX` says which of the places there are. The sums are
// those of the product, plus what lies at `addend` as the result does, plus the number of each column at `bias`. The
// result is that, or a function of it; `sum` gets it beside that. `addend`, `sum` and `at` lie as the result does, in
// its type.
enum class Activation { None, Gelu, GeluGradient }; // by the tanh approximation; the gradient is that at `at`
struct Epilogue {
  Activation activation = Activation::None;
  bool hasAddend = false, hasBias = false, hasSum = false, hasAt = false;
  CodePlace addend, bias, sum, at;
};

// ppcrt_gemm's descriptor, of version 2 and valid. With an epilogue it has no loops, adds to nothing, and its results
// are in rows without gaps.
struct MatrixProduct {
  std::vector<int64_t> descriptor;
  CodePlace a, b, c;
  std::optional<Epilogue> epilogue = std::nullopt;
};

// Another body with these arguments.
struct BodyCall {
  int body; // less than that of the body it is in
  std::vector<CodePlace> arguments;
};

// A collective of ppcrt.h: run, or begun where it has a token. An all-reduce has one place as `in` and `out`.
struct BodyExchange {
  CollectiveKind kind; // up to Permute
  int group;
  Reduction reduction = Reduction::Sum;
  DataType type;
  int64_t count;
  int shift = 0;
  CodePlace in, out;
  int token = -1;
};

// For the exchange that was begun with the token.
struct BodyWait {
  int token;
};

// An early token of the routine is there.
struct BodyReach {
  int64_t entry;
};

// Of a program compiled with --profile: an operation of the manifest begins with what follows; -1: none does.
struct BodyMark {
  int64_t operation;
};

using BodyOperation = std::variant<KernelLaunch, MatrixProduct, BodyCall, BodyExchange, BodyWait, BodyReach, BodyMark>;

struct Body {
  std::string name; // unique
  int arguments;
  std::vector<BodyOperation> operations;
  int tokens = 0;                   // all numbers of tokens are less
  std::vector<int64_t> earlyTokens; // that it reaches, those of bodies that it calls included
};

struct DeviceCode final : TargetCode {
  std::vector<Kernel> kernels;
  std::vector<Constant> constants;
  std::vector<Body> bodies;

  // Index into `bodies`, -1 if none has the name.
  int bodyNamed(const std::string &name) const;
  void checkRoutine(const JsonValue &value, const Routine &routine) const override;
  void checkProgram(const ppcrt_program &program) const override;
};

// Reads manifest["code"] and checks it: numbers are in range, calls have the arguments that the body takes, exchanges
// that are begun are waited for once, in the same body. Throws InputError naming the key.
DeviceCode readDeviceCode(const JsonValue &value, int64_t groupCount);

// readDeviceCode() as parseManifest() takes it.
std::shared_ptr<const TargetCode> readCudaCode(const JsonValue &value, int64_t groupCount);

} // namespace ppcrt
