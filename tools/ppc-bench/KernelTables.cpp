#include "KernelTables.h"

#include "ppc/KernelModel/AttentionDesign.h"
#include "ppc/Reporting/TextTable.h"

#include <algorithm>

namespace mlir::ppc {
namespace {

constexpr double mostIssue = 0.6; // share of the memory's time
/// Launches that move less are over before memory is busy.
constexpr int64_t judgedBytes = 4 << 20;

const char *unitName(MachineUnit unit) {
  switch (unit) {
  case MachineUnit::Tensor:
    return "tensor";
  case MachineUnit::Float:
    return "f32";
  case MachineUnit::Integer:
    return "integer";
  case MachineUnit::Special:
    return "special";
  case MachineUnit::Shared:
    return "shared";
  case MachineUnit::Global:
    return "global";
  case MachineUnit::Other:
    break;
  }
  return "other";
}

std::string kilobytes(double bytes) { return fixedText(bytes * 1e-3, 1); }

/// Instructions of tensor cores, as m16n8k16 of a warp: one of a warpgroup is many.
constexpr double flopsOfProduct = 2 * 16 * 8 * 16;
double products(const MachineCounts &counts) { return double(counts.tensorFlops) / flopsOfProduct; }

std::string perTensor(const MachineCounts &counts, MachineUnit unit) {
  return fixedText(double(counts.of(unit)) / products(counts), 2);
}

void printHeader(const GpuModel &gpu, llvm::raw_ostream &out) {
  out << gpu.architecture.name << ": " << gpu.architecture.device << ", " << gpu.multiprocessors
      << " multiprocessors at " << fixedText(gpu.clock * 1e-9, 2) << " GHz, of which each copies "
      << fixedText(gpu.bytesPerClock, 1) << " bytes a clock. Nothing was run: computed from machine code.\n\n";
}

void printMemoryBound(llvm::ArrayRef<ProgramKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out) {
  TextTable table({"memory-bound, nothing was run", "calls", "MB moved", "of the least", "registers", "spilled",
                   "issue", "busiest unit", "of memory's time", "KB in flight", "needed", "missed"});
  int64_t small = 0, missed = 0, judged = 0;
  for (const ProgramKernel &kernel : kernels) {
    const KernelLaunch &launch = kernel.launch;
    int64_t moved = launch.bytesRead + launch.bytesWritten;
    if (kernel.code.once().of(MachineUnit::Tensor))
      continue;
    if (moved < judgedBytes) {
      ++small;
      continue;
    }
    KernelEstimate of = estimateKernel(kernel.code, launch, gpu);
    std::string misses;
    if (of.issueClocks > mostIssue * of.memoryClocks)
      misses = "issue";
    if (of.bytesInFlight < of.bytesNeeded)
      misses += misses.empty() ? "in flight" : ", in flight";
    missed += !misses.empty(), ++judged;
    table.row(
        {kernel.function + " " + kernel.code.name.substr(0, kernel.code.name.rfind('_') + 7),
         groupedText(double(kernel.calls)), fixedText(double(moved) * 1e-6, 1),
         fixedText(double(moved) / double(std::max<int64_t>(kernel.least, 1)), 2), std::to_string(launch.registers),
         std::to_string(kernel.spilledBytes), percentText(of.issueClocks / of.memoryClocks), unitName(of.busiest),
         percentText(of.unitClocks / of.memoryClocks), kilobytes(of.bytesInFlight), kilobytes(of.bytesNeeded), misses});
  }
  table.print(out);
  out << "\n"
      << judged << " kernels, of which " << missed << " miss; " << small << " that move less than "
      << judgedBytes / (1 << 20) << " MiB are not judged. Targets: instructions issued in at most "
      << percentText(mostIssue) << " of the time in which copies move the same bytes; loads in flight for 90 % of that "
      << "rate.\n\n";
}

void printAttentionDesigns(const GpuModel &gpu, llvm::raw_ostream &out) {
  TextTable table({"attention forward, published tiles", "issue", "special", "shared: operands", "and copies"});
  for (const AttentionDesign &design : publishedAttentionDesigns(gpu.architecture.name)) {
    AttentionBounds of = boundsOf(design, gpu);
    table.row({std::to_string(design.queries) + " queries x " + std::to_string(design.keys) + " keys x " +
                   std::to_string(design.dim),
               percentText(of.issue / of.tensor), percentText(of.special / of.tensor),
               percentText(of.operands / of.tensor), percentText((of.operands + of.copies) / of.tensor)});
  }
  table.print(out);
  out << "\nOf the same time: what follows from the tiles that FlashAttention-3 and 4 have published "
         "(AttentionDesign.h).\n\n";
}

/// Prints sums over all warps of a block, for one tile of keys.
void printTensorMemory(const ProgramKernel &kernel, const TensorMemoryAttention &of, const GpuModel &gpu,
                       TextTable &table) {
  AttentionBounds bounds = boundsOf(of, gpu);
  double mma = bounds.tensor * gpu.architecture.tensorFlops / flopsOfProduct;
  auto perMma = [&](double count) { return fixedText(count / mma, 2); };
  auto ofUnit = [&](MachineUnit unit) { return perMma(double(of.counts.of(unit))); };
  bool isSpecial = bounds.special > bounds.operands;
  table.row({kernel.code.name.substr(0, kernel.code.name.rfind('_') + 7), std::to_string(kernel.launch.registers),
             std::to_string(kernel.spilledBytes), std::to_string(of.counts.instructions()), fixedText(mma, 0),
             perMma(double(of.counts.instructions())), ofUnit(MachineUnit::Float), ofUnit(MachineUnit::Integer),
             ofUnit(MachineUnit::Special), ofUnit(MachineUnit::Shared), percentText(bounds.issue / bounds.tensor),
             isSpecial ? "special" : "shared",
             percentText((isSpecial ? bounds.special : bounds.operands) / bounds.tensor)});
}

void printTensorBound(llvm::ArrayRef<ProgramKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out) {
  TextTable table({"tensor cores, nothing was run", "registers", "spilled", "in the loop", "mma", "per mma", "f32",
                   "integer", "special", "shared", "issue", "busiest unit", "of tensor time"});
  bool any = false, hasRoles = false;
  for (const ProgramKernel &kernel : kernels) {
    if (std::optional<TensorMemoryAttention> of = tensorMemoryAttention(kernel.code)) {
      printTensorMemory(kernel, *of, gpu, table);
      any = hasRoles = true;
      continue;
    }
    const MachineLoop *loop = kernel.code.mainLoop();
    if (!loop || !loop->counts.tensorFlops)
      continue;
    any = true;
    const MachineCounts &counts = loop->counts;
    KernelEstimate of = estimateKernel(kernel.code, kernel.launch, gpu);
    double mma = products(counts);
    table.row({kernel.code.name.substr(0, kernel.code.name.rfind('_') + 7), std::to_string(kernel.launch.registers),
               std::to_string(kernel.spilledBytes), std::to_string(counts.instructions()), fixedText(mma, 0),
               fixedText(double(counts.instructions()) / mma, 2), perTensor(counts, MachineUnit::Float),
               perTensor(counts, MachineUnit::Integer), perTensor(counts, MachineUnit::Special),
               perTensor(counts, MachineUnit::Shared), percentText(of.issueClocks / of.tensorClocks),
               unitName(of.busiest), percentText(of.unitClocks / of.tensorClocks)});
  }
  if (!any)
    return;
  table.print(out);
  out << "\nInstructions of the steady loop, for each m16n8k16 matmul of a warp. Issue and units are relative to the "
         "time that tensor cores at their peak take for the operations of the matmul: above 100.0 % they are the "
         "bottleneck. Bytes that tensor copies write to shared memory do not count.\n\n";
  if (hasRoles)
    out << "Attention forward is of all warps of a block, which have roles, for one tile of 128 keys that 256 queries "
           "see.\n\n";
  if (!publishedAttentionDesigns(gpu.architecture.name).empty())
    printAttentionDesigns(gpu, out);
}

} // namespace

void printKernels(llvm::ArrayRef<ProgramKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out) {
  printHeader(gpu, out);
  printMemoryBound(kernels, gpu, out);
  printTensorBound(kernels, gpu, out);
}

void printMachineCode(llvm::ArrayRef<MachineKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out) {
  printHeader(gpu, out);
  TextTable table({"kernel, nothing was run", "registers", "instructions", "loops", "in the loop", "mma", "per mma",
                   "f32", "integer", "special", "shared", "bytes loaded", "stored", "in flight", "issue",
                   "of tensor time: issue", "shared memory"});
  for (const MachineKernel &kernel : kernels) {
    const MachineLoop *loop = kernel.mainLoop();
    MachineCounts counts = loop ? loop->counts : kernel.once();
    TensorShares shares = tensorShares(kernel, gpu);
    if (std::optional<TensorMemoryAttention> of = tensorMemoryAttention(kernel)) {
      AttentionBounds bounds = boundsOf(*of, gpu);
      counts = of->counts;
      counts.tensorFlops = int64_t(bounds.tensor * gpu.architecture.tensorFlops);
      shares = {bounds.issue / bounds.tensor, bounds.operands / bounds.tensor};
    }
    double mma = products(counts);
    auto number = [](int64_t value) { return std::to_string(value); };
    table.row({kernel.name, kernel.registers ? number(kernel.registers) : "", number(kernel.once().instructions()),
               number(int64_t(kernel.loops.size())), loop ? number(counts.instructions()) : "", number(int64_t(mma)),
               mma ? fixedText(double(counts.instructions()) / mma, 2) : "", number(counts.of(MachineUnit::Float)),
               number(counts.of(MachineUnit::Integer)), number(counts.of(MachineUnit::Special)),
               number(counts.of(MachineUnit::Shared)), number(counts.loadedBytes), number(counts.storedBytes),
               number(kernel.bytesInFlight), percentText(issueShare(kernel, gpu)), mma ? percentText(shares.issue) : "",
               mma ? percentText(shares.shared) : ""});
  }
  table.print(out);
  out << "\nUnits and bytes of a thread, in one iteration of the main loop or, without one, in the whole kernel. "
         "Issue: "
         "percentage of the time in which copies move the bytes that these instructions load and store; with tensor "
         "cores, of the time that the matmuls of that iteration take.\n\n";
}

} // namespace mlir::ppc
