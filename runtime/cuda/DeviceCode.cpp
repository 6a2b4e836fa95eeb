// JSON to bodies.
#include "runtime/cuda/DeviceCode.h"
#include "runtime/base/Error.h"
#include "runtime/files/JsonValue.h"
#include "runtime/include/ppcrt.h"
#include "runtime/program/Manifest.h"

#include <algorithm>
#include <limits>
#include <set>

namespace ppcrt {
namespace {

using Value = JsonValue;

constexpr int64_t mostBlocks = std::numeric_limits<int32_t>::max(), mostThreads = 1024, mostShared = 227 * 1024,
                  mostTokens = 1 << 20, mostEarlyTokens = 64, mostParameters = 4096 / 8;

class BodyReader {
public:
  BodyReader(const DeviceCode &code, int64_t groupCount) : code(code), groupCount(groupCount) {}

  Body read(const Value &value);

private:
  using Items = std::vector<Value>;

  BodyOperation readOperation(const Value &value);
  CodePlace readPlace(const Value &value) const;
  KernelOperand readOperand(const Value &value) const;
  KernelLaunch readLaunch(const Value &value, const Items &items) const;
  MatrixProduct readProduct(const Value &value, const Items &items) const;
  Epilogue readEpilogue(const Value &value, const Items &numbers, const std::vector<int64_t> &descriptor) const;
  BodyCall readCall(const Value &value, const Items &items);
  BodyExchange readExchange(const Value &value, const Items &items) const;
  int readGroup(const Value &value) const { return int(value.integer(0, groupCount - 1)); }
  static void expect(const Value &value, const Items &items, size_t count);
  void reach(const Value &value, int64_t entry);

  const DeviceCode &code;
  int64_t groupCount;
  Body body;
  std::set<int> underWay; // tokens
};

void BodyReader::expect(const Value &value, const Items &items, size_t count) {
  if (items.size() != count)
    value.fail(format("\"%s\" has %zu values, expected %zu", items[0].string().c_str(), items.size() - 1, count - 1));
}

CodePlace BodyReader::readPlace(const Value &value) const {
  Items items = value.list();
  if (!items.empty() && items[0].isString()) {
    static const char *const kinds[] = {"constant"};
    items[0].choice(kinds, 1);
    expect(value, items, 3);
    CodePlace place{true, int(items[1].integer(0, int64_t(code.constants.size()) - 1)), 0};
    place.bytes = items[2].integer(0, code.constants[size_t(place.number)].bytes);
    return place;
  }
  if (items.size() != 2)
    value.fail("expected [argument, bytes] or [\"constant\", number, bytes]");
  return {false, int(items[0].integer(0, body.arguments - 1)), items[1].integer(0)};
}

KernelOperand BodyReader::readOperand(const Value &value) const {
  Items items = value.list();
  if (items.size() != 2 || !items[0].isString())
    return {readPlace(value), -1};
  static const char *const kinds[] = {"coordinate"};
  items[0].choice(kinds, 1);
  return {{}, readGroup(items[1])};
}

KernelLaunch BodyReader::readLaunch(const Value &value, const Items &items) const {
  if (items.size() < 2)
    value.fail("expected [\"launch\", kernel, operand...]");
  KernelLaunch launch{int(items[1].integer(0, int64_t(code.kernels.size()) - 1)), {}};
  for (size_t i = 2; i < items.size(); ++i)
    launch.operands.push_back(readOperand(items[i]));
  const Kernel &kernel = code.kernels[size_t(launch.kernel)];
  if (int64_t(launch.operands.size()) != kernel.parameters)
    value.fail(format("%zu operands for \"%s\", which takes %lld", launch.operands.size(), kernel.name.c_str(),
                      (long long)kernel.parameters));
  return launch;
}

// What ppcrt.h says of version 2.
MatrixProduct BodyReader::readProduct(const Value &value, const Items &items) const {
  expect(value, items, items.size() == 6 ? 6 : 5);
  MatrixProduct product;
  Items numbers = items[1].list();
  constexpr size_t head = 14;
  if (numbers.size() < head)
    items[1].fail(format("%zu numbers, a descriptor has at least %zu", numbers.size(), head));
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool isStride = (i > 6 && i < 13) || (i >= head && (i - head) % 4);
    product.descriptor.push_back(numbers[i].integer(isStride ? -Value::maxSize : 0));
  }
  const std::vector<int64_t> &at = product.descriptor;
  if (at[0] != 2)
    numbers[0].fail("expected a descriptor of version 2");
  bool known = (at[1] == PPCRT_F32 || at[1] == PPCRT_F64)
                   ? at[3] == at[1]
                   : at[1] == PPCRT_BF16 && (at[3] == PPCRT_F32 || at[3] == at[1]);
  if (!known)
    numbers[3].fail(format("no products of type %lld have results of type %lld", (long long)at[1], (long long)at[3]));
  if (at[2] > 1)
    numbers[2].fail("expected 0 or 1");
  if (at[13] > 8 || at.size() != head + 4 * size_t(at[13]))
    numbers[13].fail(format("%lld loops in a descriptor of %zu numbers", (long long)at[13], at.size()));
  product.a = readPlace(items[2]);
  product.b = readPlace(items[3]);
  product.c = readPlace(items[4]);
  if (items.size() == 6)
    product.epilogue = readEpilogue(items[5], numbers, product.descriptor);
  return product;
}

Epilogue BodyReader::readEpilogue(const Value &value, const Items &numbers, const std::vector<int64_t> &at) const {
  static const char *const activations[] = {"none", "gelu", "gelu_gradient"};
  Epilogue epilogue;
  epilogue.activation = Activation(value.at("activation").choice(activations, 3));
  struct {
    const char *key;
    bool &isThere;
    CodePlace &place;
  } places[] = {{"addend", epilogue.hasAddend, epilogue.addend},
                {"bias", epilogue.hasBias, epilogue.bias},
                {"sum", epilogue.hasSum, epilogue.sum},
                {"at", epilogue.hasAt, epilogue.at}};
  for (auto &[key, isThere, place] : places)
    if ((isThere = value.has(key)))
      place = readPlace(value.at(key));
  if (epilogue.hasSum && epilogue.activation != Activation::Gelu)
    value.at("sum").fail("only gelu keeps its sums");
  if (epilogue.hasAt != (epilogue.activation == Activation::GeluGradient))
    value.fail("\"at\" goes with gelu_gradient");
  if (epilogue.hasAt && epilogue.hasBias)
    value.at("bias").fail("gelu_gradient has no bias");
  if (at[2] || at[13])
    numbers[at[2] ? 2 : 13].fail("a product with an epilogue neither accumulates nor has loops");
  if (at[12] != 1 || at[11] != at[5])
    numbers[11].fail("results of a product with an epilogue are in rows without gaps");
  if (at[4] < 1 || at[5] < 1 || at[6] < 1)
    numbers[4].fail("a product with an epilogue has rows, columns and sums");
  if (at[1] == PPCRT_F64)
    numbers[1].fail("products of f64 have no epilogue");
  return epilogue;
}

BodyCall BodyReader::readCall(const Value &value, const Items &items) {
  if (items.size() < 2)
    value.fail("expected [\"call\", body, place...]");
  BodyCall call{int(items[1].integer(0, int64_t(code.bodies.size()) - 1)), {}};
  const Body &called = code.bodies[size_t(call.body)];
  for (size_t i = 2; i < items.size(); ++i)
    call.arguments.push_back(readPlace(items[i]));
  if (int(call.arguments.size()) != called.arguments)
    value.fail(
        format("%zu places for \"%s\", which takes %d", call.arguments.size(), called.name.c_str(), called.arguments));
  for (int64_t entry : called.earlyTokens)
    reach(value, entry);
  return call;
}

BodyExchange BodyReader::readExchange(const Value &value, const Items &items) const {
  static const char *const reductions[] = {"sum", "max"};
  BodyExchange exchange{};
  exchange.kind = CollectiveKind(items[0].choice(collectiveNames, int(CollectiveKind::Permute) + 1));
  bool reduces = exchange.kind == CollectiveKind::AllReduce || exchange.kind == CollectiveKind::ReduceScatter;
  bool shifts = exchange.kind == CollectiveKind::Permute, inPlace = exchange.kind == CollectiveKind::AllReduce;
  expect(value, items, 6 + (reduces || shifts) - inPlace);
  size_t next = 1;
  exchange.group = readGroup(items[next++]);
  if (reduces)
    exchange.reduction = Reduction(items[next++].choice(reductions, 2));
  exchange.type = items[next++].type();
  exchange.count = items[next++].integer(0);
  if (shifts)
    exchange.shift =
        int(items[next++].integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  exchange.in = readPlace(items[next++]);
  exchange.out = inPlace ? exchange.in : readPlace(items[next++]);
  if (exchange.in.isConstant || exchange.out.isConstant)
    value.fail("constants cannot be communicated");
  return exchange;
}

void BodyReader::reach(const Value &value, int64_t entry) {
  if (std::count(body.earlyTokens.begin(), body.earlyTokens.end(), entry))
    value.fail(format("early token %lld is reached twice", (long long)entry));
  body.earlyTokens.push_back(entry);
}

BodyOperation BodyReader::readOperation(const Value &value) {
  Items items = value.list();
  if (items.empty())
    value.fail("expected an operation, found nothing");
  std::string what = items[0].string();
  if (what == "launch")
    return readLaunch(value, items);
  if (what == "product")
    return readProduct(value, items);
  if (what == "call")
    return readCall(value, items);
  if (what == "reach") {
    expect(value, items, 2);
    BodyReach result{items[1].integer(0, mostEarlyTokens - 1)};
    reach(items[1], result.entry);
    return result;
  }
  if (what == "mark") {
    expect(value, items, 2);
    return BodyMark{items[1].integer(-1)};
  }
  if (what == "start") {
    expect(value, items, 3);
    int token = int(items[1].integer(0, mostTokens));
    if (!underWay.insert(token).second)
      items[1].fail(format("token %d is under way", token));
    body.tokens = std::max(body.tokens, token + 1);
    Items call = items[2].list();
    if (call.empty())
      items[2].fail("expected a collective, found nothing");
    BodyExchange exchange = readExchange(items[2], call);
    exchange.token = token;
    return exchange;
  }
  if (what == "wait") {
    expect(value, items, 2);
    int token = int(items[1].integer(0, mostTokens));
    if (!underWay.erase(token))
      items[1].fail(format("token %d is not under way", token));
    return BodyWait{token};
  }
  return readExchange(value, items);
}

Body BodyReader::read(const Value &value) {
  body.name = value.at("name").string();
  if (code.bodyNamed(body.name) >= 0)
    value.at("name").fail("body \"" + body.name + "\" is defined twice");
  body.arguments = int(value.at("arguments").integer(0, 1 << 24));
  for (const Value &operation : value.at("operations").list())
    body.operations.push_back(readOperation(operation));
  if (!underWay.empty())
    value.at("operations").fail(format("token %d is never waited for", *underWay.begin()));
  return std::move(body);
}

std::vector<int64_t> readNumbers(const Value &value, size_t count, int64_t least, int64_t most) {
  std::vector<int64_t> numbers;
  for (const Value &item : value.list())
    numbers.push_back(item.integer(least, most));
  if (numbers.size() != count)
    value.fail(format("expected %zu numbers", count));
  return numbers;
}

// What the driver asks of a map (cuTensorMapEncodeTiled).
TensorMap readTensorMap(const Value &value, int64_t parameters) {
  constexpr int64_t mostSize = int64_t(1) << 32, mostStride = (int64_t(1) << 40) - 1, mostBox = 256;
  size_t rank = value.at("sizes").list().size();
  if (rank < 1 || rank > 5)
    value.at("sizes").fail("a tensor map has 1 to 5 dimensions");
  TensorMap map{int(value.at("operand").integer(0, parameters - 1)), readNumbers(value.at("sizes"), rank, 1, mostSize),
                readNumbers(value.at("strides"), rank - 1, 16, mostStride),
                readNumbers(value.at("box"), rank, 1, mostBox)};
  for (int64_t stride : map.strides)
    if (stride % 16)
      value.at("strides").fail("strides are multiples of 16 bytes");
  return map;
}

ChipLaunch readChipLaunch(const Value &value, int64_t parameters) {
  ChipLaunch launch{value.at("chip").string(),
                    value.at("blocks").integer(1, mostBlocks),
                    value.at("threads").integer(1, mostThreads),
                    value.at("shared").integer(0, mostShared),
                    {}};
  for (const Value &map : value.at("maps").list())
    launch.maps.push_back(readTensorMap(map, parameters));
  return launch;
}

template <typename Named>
void checkUnique(const Value &value, const std::vector<Named> &before, const std::string &name) {
  for (const Named &other : before)
    if (other.name == name)
      value.at("name").fail("\"" + name + "\" is defined twice");
}

} // namespace

int DeviceCode::bodyNamed(const std::string &name) const {
  auto found = std::find_if(bodies.begin(), bodies.end(), [&](const Body &body) { return body.name == name; });
  return found == bodies.end() ? -1 : int(found - bodies.begin());
}

void DeviceCode::checkRoutine(const JsonValue &value, const Routine &routine) const {
  int number = bodyNamed(routine.entry);
  if (number < 0)
    value.at("entry").fail("no body named \"" + routine.entry + "\" in \"code\"");
  const Body &body = bodies[size_t(number)];
  if (body.arguments != int(routine.buffers.size()))
    value.at("buffers").fail(format("%zu of them for \"%s\", which takes %d", routine.buffers.size(),
                                    routine.entry.c_str(), body.arguments));
  bool fits = int64_t(body.earlyTokens.size()) == routine.earlyTokens;
  for (int64_t entry : body.earlyTokens)
    fits &= entry < routine.earlyTokens;
  if (!fits)
    value.fail(format("%lld early tokens, but \"%s\" reaches %zu, or others", (long long)routine.earlyTokens,
                      routine.entry.c_str(), body.earlyTokens.size()));
}

void DeviceCode::checkProgram(const ppcrt_program &program) const {
  if (!kernels.empty() && !program.image_count)
    throw InputError("manifest: code.kernels: the program has no image that holds them");
  if (program.constant_count != constants.size())
    throw InputError(format("manifest: code.constants: %zu of them, but the program has %llu", constants.size(),
                            (unsigned long long)program.constant_count));
  for (size_t i = 0; i < constants.size(); ++i) {
    const ppcrt_constant &held = program.constants[i];
    if (constants[i].name != held.name || uint64_t(constants[i].bytes) != held.size)
      throw InputError(format("manifest: code.constants[%zu]: \"%s\" of %lld bytes, but the program has \"%s\" of %llu",
                              i, constants[i].name.c_str(), (long long)constants[i].bytes, held.name,
                              (unsigned long long)held.size));
  }
}

DeviceCode readDeviceCode(const JsonValue &value, int64_t groupCount) {
  DeviceCode code;
  for (const Value &item : value.at("kernels").list()) {
    Kernel kernel{item.at("name").string(),
                  item.at("blocks").integer(1, mostBlocks),
                  item.at("threads").integer(1, mostThreads),
                  item.at("parameters").integer(0, mostParameters),
                  item.has("shared") ? item.at("shared").integer(0, mostShared) : 0,
                  {}};
    if (item.has("chips"))
      for (const Value &chip : item.at("chips").list())
        kernel.chips.push_back(readChipLaunch(chip, kernel.parameters));
    checkUnique(item, code.kernels, kernel.name);
    code.kernels.push_back(std::move(kernel));
  }
  if (value.has("constants"))
    for (const Value &item : value.at("constants").list()) {
      Constant constant{item.at("name").string(), item.at("bytes").integer(0)};
      checkUnique(item, code.constants, constant.name);
      code.constants.push_back(std::move(constant));
    }
  for (const Value &item : value.at("bodies").list())
    code.bodies.push_back(BodyReader(code, groupCount).read(item));
  return code;
}

std::shared_ptr<const TargetCode> readCudaCode(const JsonValue &value, int64_t groupCount) {
  return std::make_shared<DeviceCode>(readDeviceCode(value, groupCount));
}

} // namespace ppcrt
