#include "ppc/KernelModel/MachineCode.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace mlir::ppc {
namespace {

struct Instruction {
  llvm::StringRef name, operands;
  bool isConditional = false;
};

/// Bytes of a thread that an access moves.
int64_t accessBytes(llvm::StringRef name) {
  for (auto [modifier, bytes] : {std::pair(".256", 32), std::pair(".128", 16), std::pair(".64", 8),
                                 std::pair(".U16", 2), std::pair(".S16", 2), std::pair(".U8", 1), std::pair(".S8", 1)})
    if ((name + ".").str().find(std::string(modifier) + ".") != std::string::npos)
      return bytes;
  return 4;
}

/// FLOPs of a warp; the four warps of a warpgroup share its instruction.
int64_t tensorFlops(llvm::StringRef name) {
  if (name.contains(".16816"))
    return 2 * 16 * 8 * 16;
  if (name.contains(".1688"))
    return 2 * 16 * 8 * 8;
  llvm::SmallVector<llvm::StringRef> size;
  int64_t m = 0, n = 0, k = 0;
  if (!llvm::Regex("\\.([0-9]+)x([0-9]+)x([0-9]+)").match(name, &size) || size[1].getAsInteger(10, m) ||
      size[2].getAsInteger(10, n) || size[3].getAsInteger(10, k))
    return 0;
  return 2 * m * n * k / 4;
}

/// Bytes of a warp in shared memory: a matrix of `ldmatrix` is 128 bytes, a shuffle 4 of each thread.
int64_t sharedBytes(llvm::StringRef name) {
  if (name.starts_with("LDSM") || name.starts_with("STSM"))
    return 128 * (name.ends_with(".4") ? 4 : name.ends_with(".2") ? 2 : 1);
  return 32 * accessBytes(name);
}

/// Bytes of a warp that a matmul of a warpgroup reads from shared memory through descriptors: its share of the right
/// operand, which the four warps read once together, and of the left one if that is not in registers.
int64_t operandBytes(const Instruction &instruction) {
  llvm::SmallVector<llvm::StringRef> size;
  int64_t m = 0, n = 0, k = 0;
  if (!llvm::Regex("HGMMA\\.([0-9]+)x([0-9]+)x([0-9]+)").match(instruction.name, &size) ||
      size[1].getAsInteger(10, m) || size[2].getAsInteger(10, n) || size[3].getAsInteger(10, k))
    return 0;
  // "R24, gdesc[UR4], R24": both; "R24, R8, gdesc[UR4], R24": the right one.
  llvm::StringRef second = instruction.operands.split(',').second.ltrim();
  return 2 * (n * k + (second.starts_with("gdesc") ? m * k : 0)) / 4;
}

/// Registers "R12" that are named in a text.
llvm::SmallVector<int64_t> registersIn(llvm::StringRef text) {
  llvm::SmallVector<int64_t> numbers;
  for (size_t at = text.find('R'); at != llvm::StringRef::npos; at = text.find('R', at + 1)) {
    if (at && llvm::isAlnum(text[at - 1])) // UR4
      continue;
    int64_t number = 0;
    llvm::StringRef digits = text.drop_front(at + 1).take_while(llvm::isDigit);
    if (!digits.empty() && !digits.getAsInteger(10, number))
      numbers.push_back(number);
  }
  return numbers;
}

class KernelReader {
public:
  explicit KernelReader(llvm::StringRef name) { kernel.name = name.str(); }

  void label(llvm::StringRef name) {
    labels[name] = code.size();
    starts.push_back(code.size());
  }
  void add(const Instruction &instruction) {
    code.push_back(instruction);
    if (isBranch(instruction) || instruction.name == "EXIT")
      starts.push_back(code.size());
  }

  MachineKernel finish(int64_t registers) {
    kernel.registers = registers;
    dropColdBlocks();
    findLoops();
    count();
    kernel.bytesInFlight = inFlight();
    return std::move(kernel);
  }

private:
  static bool isBranch(const Instruction &instruction) { return instruction.name.split('.').first == "BRA"; }

  /// Drops blocks that call a slow path, and code after the end: a branch to itself and padding.
  void dropColdBlocks() {
    isCold.assign(code.size(), false);
    starts.push_back(0);
    starts.push_back(code.size());
    llvm::sort(starts);
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      auto block = llvm::ArrayRef(code).slice(starts[i], starts[i + 1] - starts[i]);
      bool cold = llvm::any_of(block, [](const Instruction &one) {
        return one.name.starts_with("CALL.REL") && one.operands.contains("$__internal");
      });
      std::fill(isCold.begin() + int64_t(starts[i]), isCold.begin() + int64_t(starts[i + 1]), cold);
    }
    for (size_t i = 0; i < code.size(); ++i)
      if (code[i].name == "NOP" || targetOf(i) == i)
        isCold[i] = true;
  }

  std::optional<size_t> targetOf(size_t at) const {
    if (!isBranch(code[at]))
      return std::nullopt;
    auto [before, rest] = code[at].operands.split("`(");
    auto found = labels.find(rest.split(')').first);
    return found == labels.end() ? std::nullopt : std::optional(found->second);
  }

  void findLoops() {
    for (size_t i = 0; i < code.size(); ++i) {
      std::optional<size_t> target = targetOf(i);
      if (!target || *target >= i || isCold[i])
        continue;
      auto same = llvm::find_if(kernel.loops, [&](const MachineLoop &loop) { return loop.first == int64_t(*target); });
      if (same != kernel.loops.end()) // `continue`
        same->last = int64_t(i);
      else
        kernel.loops.push_back({int64_t(*target), int64_t(i), {}});
    }
    while (joinCrossing())
      ;
  }

  /// Of two loops that share a part, the earlier one is not a loop if nothing before leads to its beginning: it is a
  /// part of the other, which is laid out before that one's beginning.
  bool joinCrossing() {
    for (MachineLoop &loop : kernel.loops)
      for (auto other = kernel.loops.begin(); other != kernel.loops.end(); ++other)
        if (loop.first < other->first && other->first <= loop.last && loop.last < other->last &&
            !isEntered(size_t(loop.first))) {
          loop.last = other->last;
          kernel.loops.erase(other);
          return true;
        }
    return false;
  }

  bool isEntered(size_t at) const {
    bool goesOn = at == 0 || code[at - 1].isConditional || (!isBranch(code[at - 1]) && code[at - 1].name != "EXIT");
    return goesOn || llvm::any_of(llvm::seq<size_t>(0, at), [&](size_t from) { return targetOf(from) == at; });
  }

  void count() {
    for (size_t i = 0; i < code.size(); ++i)
      if (!isCold[i])
        countIn(innermost(int64_t(i)), code[i]);
  }

  MachineCounts &innermost(int64_t at) {
    MachineLoop *found = nullptr;
    for (MachineLoop &loop : kernel.loops)
      if (loop.first <= at && at <= loop.last && (!found || loop.last - loop.first < found->last - found->first))
        found = &loop;
    return found ? found->counts : kernel.outside;
  }

  static void countIn(MachineCounts &counts, const Instruction &instruction) {
    llvm::StringRef base = instruction.name.split('.').first;
    MachineUnit unit = unitOf(instruction.name);
    ++counts.byUnit[int(unit)];
    if (unit == MachineUnit::Tensor)
      counts.tensorFlops += tensorFlops(instruction.name);
    if (base == "LDG" || base == "LDGSTS")
      counts.loadedBytes += accessBytes(instruction.name);
    if (base == "STG")
      counts.storedBytes += accessBytes(instruction.name);
    if (unit == MachineUnit::Shared || base == "LDGSTS")
      counts.sharedBytes += sharedBytes(instruction.name);
    if (unit == MachineUnit::Tensor)
      counts.sharedBytes += operandBytes(instruction);
    counts.spills += base == "LDL" || base == "STL";
  }

  int64_t inFlight() const {
    struct Load {
      int64_t first, last, bytes;
    };
    std::vector<Load> waiting;
    int64_t most = 0;
    for (size_t i = 0; i < code.size(); ++i) {
      if (isCold[i])
        continue;
      llvm::StringRef base = code[i].name.split('.').first;
      bool isLoad = base == "LDG";
      // The result register of a load does not use an earlier load, its address does.
      llvm::StringRef read =
          isLoad ? code[i].operands.drop_front(std::min(code[i].operands.find('['), code[i].operands.size()))
                 : code[i].operands;
      for (int64_t number : registersIn(read))
        for (size_t load = waiting.size(); load-- > 0;)
          if (waiting[load].first <= number && number <= waiting[load].last) {
            waiting.erase(waiting.begin(), waiting.begin() + int64_t(load) + 1); // they return in order
            break;
          }
      if (!isLoad)
        continue;
      llvm::SmallVector<int64_t> result = registersIn(code[i].operands.split('[').first);
      if (result.empty())
        continue;
      int64_t bytes = accessBytes(code[i].name);
      waiting.push_back({result.front(), result.front() + std::max<int64_t>(bytes / 4, 1) - 1, bytes});
      most = std::max(most, std::accumulate(waiting.begin(), waiting.end(), int64_t(0),
                                            [](int64_t sum, const Load &one) { return sum + one.bytes; }));
    }
    return most;
  }

  MachineKernel kernel;
  std::vector<Instruction> code;
  std::vector<bool> isCold;
  std::vector<size_t> starts; // first instructions of blocks
  llvm::StringMap<size_t> labels;
};

/// "/*0090*/  @!P0 LDG.E.128 R4, [R4.64] ;"
std::optional<Instruction> readInstruction(llvm::StringRef line) {
  if (!line.consume_front("/*"))
    return std::nullopt;
  auto [address, rest] = line.split("*/");
  llvm::StringRef text = rest.split(';').first.trim();
  if (address.empty() || !llvm::all_of(address, llvm::isHexDigit) || text.empty() || rest.find(';') == rest.npos)
    return std::nullopt;
  Instruction found;
  found.isConditional = text.starts_with("@"); // a predicate; it is issued in any case
  if (found.isConditional)
    text = text.split(' ').second.trim();
  auto [name, operands] = text.split(' ');
  found.name = name.trim();
  found.operands = operands.trim();
  return found;
}

} // namespace

MachineUnit unitOf(llvm::StringRef name) {
  llvm::StringRef base = name.split('.').first;
  auto begins = [&](std::initializer_list<llvm::StringRef> with) {
    return llvm::any_of(with, [&](llvm::StringRef one) { return base.starts_with(one); });
  };
  // HFMA2.MMA is the pipe of a half-precision addition, most often a move.
  if (begins({"HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "OMMA", "DMMA", "BMMA"}) ||
      (base.starts_with("UTC") && base.contains("MMA")))
    return MachineUnit::Tensor;
  if (begins({"LDGSTS", "LDG", "STG", "RED", "ATOMG", "ATOM.", "UBLKCP", "UTMA"}) || base == "ATOM" || base == "LD" ||
      base == "ST" || base == "LDL" || base == "STL")
    return MachineUnit::Global;
  if (begins({"LDS", "STS", "LDSM", "STSM", "ATOMS", "SHFL"}))
    return MachineUnit::Shared;
  if (begins({"MUFU", "F2I", "I2F", "F2F", "FRND", "POPC", "FLO", "BREV"}) && base != "F2FP")
    return MachineUnit::Special;
  if (begins({"FADD", "FMUL", "FFMA", "HADD2", "HMUL2", "HFMA2", "HMNMX2", "IMAD"}))
    return MachineUnit::Float;
  if (begins({"FMNMX",  "FSEL", "FSET", "FCHK", "FSWZADD", "F2FP", "IADD", "ISETP", "IABS", "IMNMX", "VIADD",
              "VIMNMX", "LEA",  "LOP3", "SHF",  "PRMT",    "SEL",  "MOV",  "PLOP3", "SGXT", "BMSK"}))
    return MachineUnit::Integer;
  return MachineUnit::Other;
}

int64_t MachineCounts::instructions() const { return std::accumulate(byUnit.begin(), byUnit.end(), int64_t(0)); }

MachineCounts &MachineCounts::operator+=(const MachineCounts &other) {
  for (int unit = 0; unit < machineUnitCount; ++unit)
    byUnit[unit] += other.byUnit[unit];
  loadedBytes += other.loadedBytes, storedBytes += other.storedBytes;
  sharedBytes += other.sharedBytes, tensorFlops += other.tensorFlops, spills += other.spills;
  return *this;
}

MachineCounts MachineKernel::once() const {
  MachineCounts all = outside;
  for (const MachineLoop &loop : loops)
    all += loop.counts;
  return all;
}

const MachineLoop *MachineKernel::mainLoop() const {
  auto key = [](const MachineLoop &loop) {
    int64_t tensor = loop.counts.of(MachineUnit::Tensor), all = loop.counts.instructions();
    int64_t moved = tensor ? 0 : loop.counts.loadedBytes + loop.counts.storedBytes;
    return std::tuple(tensor, moved, tensor ? -all : all);
  };
  auto found = std::max_element(loops.begin(), loops.end(),
                                [&](const MachineLoop &a, const MachineLoop &b) { return key(a) < key(b); });
  return found == loops.end() ? nullptr : &*found;
}

std::vector<MachineKernel> readMachineCode(llvm::StringRef disassembly) {
  std::vector<MachineKernel> kernels;
  std::optional<KernelReader> reader;
  int64_t registers = 0;
  auto finish = [&] {
    if (reader)
      kernels.push_back(reader->finish(registers));
    reader.reset();
  };
  for (llvm::StringRef line : llvm::split(disassembly, '\n')) {
    line = line.trim();
    if (line.starts_with(".section") && !line.starts_with(".sectioninfo")) {
      finish();
      registers = 0;
    } else if (auto at = line.find("SHI_REGISTERS="); at != line.npos) {
      line.drop_front(at + 14).take_while(llvm::isDigit).getAsInteger(10, registers);
    } else if (line.starts_with(".text.") && line.ends_with(":")) {
      finish();
      reader.emplace(line.drop_front(6).drop_back());
    } else if (line.starts_with("$") && line.ends_with(":")) {
      finish(); // a function that the kernel calls
    } else if (reader && line.starts_with(".L") && line.ends_with(":")) {
      reader->label(line.drop_back());
    } else if (auto instruction = readInstruction(line); reader && instruction) {
      reader->add(*instruction);
    }
  }
  finish();
  return kernels;
}

} // namespace mlir::ppc
