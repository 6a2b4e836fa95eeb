// Executes one kernel of a file of PTX on this machine:
//   ppc-ptx FILE.ptx KERNEL [--grid X[,Y,Z]] [--block X[,Y,Z]] [--shared BYTES] [--seed N] [--limit N] [--counts]
//   ARGUMENT...
// An argument is u32:N, s32:N, u64:N, s64:N, f32:X, f64:X, or a buffer: in:FILE, out:BYTES:FILE (zeros at the
// beginning), inout:FILE:FILE, or a tensor map of elements of two bytes or its address, as the kernel has it:
// map:N:SIZES:STRIDES:BOX, of the buffer that argument N (from 0) is, the fastest dimension first, strides in bytes
// from the second on, boxes with 128-byte swizzling. Without a kernel the kernels of the file are listed, with their
// parameters.
#include "test/CudaStandIn/Ptx/Launch.h"

#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/TensorMap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using Bytes = std::vector<char>;

[[noreturn]] void fail(const std::string &what) {
  std::cerr << "ppc-ptx: error: " << what << "\n";
  std::exit(2);
}

Bytes readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail("cannot read '" + path + "'");
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

uint64_t wholeNumber(const std::string &text) {
  char *end;
  uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || *end)
    fail("'" + text + "' is not a whole number");
  return value;
}

std::array<uint32_t, 3> sizes(const std::string &text) {
  std::array<uint32_t, 3> result{1, 1, 1};
  size_t first = 0;
  for (int i = 0; i < 3 && first <= text.size(); ++i) {
    size_t comma = std::min(text.find(',', first), text.size());
    result[i] = uint32_t(wholeNumber(text.substr(first, comma - first)));
    first = comma + 1;
  }
  return result;
}

struct Output {
  std::string path;
  uint64_t address;
  int64_t bytes;
};

struct Command {
  std::string file, kernel;
  ptx::LaunchShape shape;
  ptx::LaunchOptions options;
  std::vector<std::string> arguments;
};

Command commandFrom(int argc, char **argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&]() -> std::string { return ++i < argc ? argv[i] : (fail(word + " needs a value"), ""); };
    if (word == "--grid")
      command.shape.grid = sizes(value());
    else if (word == "--block")
      command.shape.block = sizes(value());
    else if (word == "--shared")
      command.shape.sharedBytes = uint32_t(wholeNumber(value()));
    else if (word == "--seed")
      command.options.seed = wholeNumber(value());
    else if (word == "--limit")
      command.options.instructionLimit = int64_t(wholeNumber(value()));
    else if (word == "--counts")
      command.options.countOpcodes = true;
    else if (word.rfind("--", 0) == 0)
      fail("unknown option '" + word + "'");
    else if (command.file.empty())
      command.file = word;
    else if (command.kernel.empty())
      command.kernel = word;
    else
      command.arguments.push_back(word);
  }
  if (command.file.empty())
    fail("which file? usage: ppc-ptx FILE.ptx KERNEL [--grid X,Y,Z] [--block X,Y,Z] [--shared BYTES] ARGUMENT...");
  return command;
}

std::vector<uint64_t> numbers(const std::string &text) {
  std::vector<uint64_t> result;
  for (size_t first = 0; first < text.size();) {
    size_t comma = std::min(text.find(',', first), text.size());
    result.push_back(wholeNumber(text.substr(first, comma - first)));
    first = comma + 1;
  }
  return result;
}

// "N:SIZES:STRIDES:BOX"; `before` are the bits of the arguments before it.
uint64_t tensorMap(const std::string &text, ptx::GlobalMemory &memory, const std::vector<uint64_t> &before) {
  std::vector<std::vector<uint64_t>> parts;
  for (size_t first = 0; first <= text.size();) {
    size_t colon = std::min(text.find(':', first), text.size());
    parts.push_back(numbers(text.substr(first, colon - first)));
    first = colon + 1;
  }
  if (parts.size() != 4 || parts[0].size() != 1 || parts[0][0] >= before.size() || parts[1].empty() ||
      parts[1].size() > 5 || parts[2].size() + 1 != parts[1].size() || parts[3].size() != parts[1].size())
    fail("argument 'map:" + text + "' is not map:N:SIZES:STRIDES:BOX of an earlier argument");
  ptx::TensorMap map;
  map.rank = uint8_t(parts[1].size());
  map.elementBytes = 2;
  map.swizzle = 3;
  map.address = before[parts[0][0]];
  for (size_t i = 0; i < map.rank; ++i) {
    map.sizes[i] = uint32_t(parts[1][i]);
    map.strides[i] = i ? parts[2][i - 1] : 2;
    map.box[i] = uint16_t(parts[3][i]);
  }
  uint64_t address = memory.allocate(128);
  std::memcpy(memory.find(address, 128), &map, sizeof map);
  return address;
}

// The bits of an argument; buffers are put into the memory of the device.
uint64_t bitsOf(const std::string &argument, ptx::GlobalMemory &memory, std::vector<Output> &outputs) {
  size_t colon = argument.find(':');
  std::string kind = argument.substr(0, colon), rest = colon == std::string::npos ? "" : argument.substr(colon + 1);
  if (kind == "f32")
    return ptx::bitsAs<uint32_t>(std::strtof(rest.c_str(), nullptr));
  if (kind == "f64")
    return ptx::bitsAs<uint64_t>(std::strtod(rest.c_str(), nullptr));
  if (kind == "u32" || kind == "s32" || kind == "u64" || kind == "s64")
    return wholeNumber(rest);
  size_t second = rest.find(':');
  std::string path = rest.substr(0, second), target = second == std::string::npos ? "" : rest.substr(second + 1);
  Bytes data;
  if (kind == "in" || kind == "inout")
    data = readFile(path);
  else if (kind == "out")
    data.resize(size_t(wholeNumber(path)));
  else
    fail("argument '" + argument + "' is of no known kind");
  uint64_t address = memory.allocate(int64_t(data.size()));
  std::copy(data.begin(), data.end(), reinterpret_cast<char *>(memory.find(address, int64_t(data.size()))));
  if (kind != "in")
    outputs.push_back({target, address, int64_t(data.size())});
  return address;
}

void list(const ptx::Module &module) {
  for (const auto &[name, kernel] : module.kernels) {
    std::cout << name << " (";
    for (size_t i = 0; i < kernel->parameters.size(); ++i)
      std::cout << (i ? ", " : "") << kernel->parameters[i].bytes;
    std::cout << " bytes), shared " << kernel->sharedBytes << ", local " << kernel->localBytes << "\n";
  }
}

int run(const Command &command) {
  Bytes text = readFile(command.file);
  std::unique_ptr<ptx::Module> module = ptx::parse({text.data(), text.size()});
  if (command.kernel.empty()) {
    list(*module);
    return 0;
  }
  auto found = module->kernels.find(command.kernel);
  if (found == module->kernels.end())
    fail("'" + command.file + "' has no kernel '" + command.kernel + "'");
  const ptx::Function &kernel = *found->second;
  if (kernel.parameters.size() != command.arguments.size())
    fail("kernel '" + kernel.name + "' takes " + std::to_string(kernel.parameters.size()) + " arguments, not " +
         std::to_string(command.arguments.size()));
  ptx::GlobalMemory memory;
  module->load([&](int64_t bytes, int64_t alignment) { return memory.allocate(bytes, alignment); },
               [&](uint64_t address, const std::vector<uint8_t> &bytes) {
                 std::memcpy(memory.find(address, int64_t(bytes.size())), bytes.data(), bytes.size());
               });
  std::vector<std::byte> parameters(size_t(kernel.parameterBytes));
  std::vector<Output> outputs;
  std::vector<uint64_t> given;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string &argument = command.arguments[i];
    uint64_t bits = argument.rfind("map:", 0) == 0 ? tensorMap(argument.substr(4), memory, given)
                                                   : bitsOf(argument, memory, outputs);
    given.push_back(bits);
    const ptx::Variable &parameter = kernel.parameters[i];
    const void *bytes = &bits;
    int64_t count = std::min<int64_t>(parameter.bytes, 8);
    if (parameter.bytes == 128) // a tensor map itself
      bytes = memory.find(bits, 128), count = bytes ? 128 : 0;
    std::memcpy(parameters.data() + parameter.address, bytes, size_t(count));
  }
  ptx::LaunchCounts counts = ptx::launch(kernel, command.shape, parameters.data(), memory, command.options);
  for (const Output &output : outputs)
    if (!output.path.empty())
      std::ofstream(output.path, std::ios::binary)
          .write(reinterpret_cast<const char *>(memory.find(output.address, output.bytes)), output.bytes);
  for (const auto &[opcode, count] : counts.opcodes)
    std::cout << count << " " << opcode << "\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Command command = commandFrom(argc, argv);
  try {
    return run(command);
  } catch (const ptx::ParseError &error) {
    std::cerr << command.file << ":" << error.what() << "\n";
  } catch (const ptx::Fault &fault) {
    std::cerr << command.file << ": " << fault.what() << "\n";
  }
  return 1;
}
