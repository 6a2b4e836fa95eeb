// The subcommand `kernels`: compiles a program for GPUs, assembles and disassembles its kernels, and shows the
// resources that they need on each architecture.
#include "KernelTables.h"

#include "ppc/Support/CsvReader.h"
#include "ppc/Support/CudaTools.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/OutputFile.h"
#include "ppc/Support/ScratchFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace mlir::ppc {
namespace {

namespace cl = llvm::cl;

cl::SubCommand kernelsCommand("kernels", "What machine code of kernels asks of GPUs, without one: nothing is run");
cl::list<std::string> architectures("arch", cl::sub(kernelsCommand), cl::CommaSeparated,
                                    cl::value_desc("sm_80,sm_90a,sm_100a"),
                                    cl::desc("Architectures; default: all of them"));
cl::opt<std::string> programModel("model", cl::sub(kernelsCommand), cl::value_desc("config.json"),
                                  cl::desc("Model whose program is compiled, in bf16; default: LLaMA-3-8B"));
cl::opt<std::string>
    programLayout("layout", cl::sub(kernelsCommand), cl::value_desc("options"),
                  cl::desc("Options for ppc-compile; default: --seq-len 4096 --global-batch 8 --micro-batch "
                           "1 --tp 8"),
                  cl::init("--seq-len 4096 --global-batch 8 --micro-batch 1 --tp 8"));
cl::opt<std::string> disassembler("nvdisasm", cl::sub(kernelsCommand), cl::value_desc("program"),
                                  cl::desc("NVIDIA's disassembler; default: that of the PATH or the CUDA Toolkit"));
cl::list<std::string> peers(cl::Positional, cl::sub(kernelsCommand),
                            cl::desc("[machine code of others, *.cubin or what nvdisasm -c prints, instead ...]"));

const char *const defaultModel = R"({
  "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
  "rope_theta": 500000.0, "hidden_act": "silu", "initializer_range": 0.02, "tie_word_embeddings": false
}
)";

class KernelsCommand {
public:
  KernelsCommand(std::string tools, std::string folder) : tools(std::move(tools)), folder(std::move(folder)) {}

  llvm::Error run() {
    if (peers.empty())
      if (llvm::Error error = writeModel())
        return error;
    llvm::SmallVector<std::string> names(architectures.begin(), architectures.end());
    if (names.empty())
      for (const GpuArchitecture &known : gpuArchitectures())
        names.push_back(known.name.str());
    for (const std::string &name : names) {
      llvm::Expected<GpuModel> gpu = gpuModel(name);
      if (!gpu)
        return llvm::createStringError("--arch: " + llvm::toString(gpu.takeError()));
      if (llvm::Error error = peers.empty() ? printProgram(*gpu) : printPeers(*gpu))
        return error;
      llvm::outs().flush();
    }
    return llvm::Error::success();
  }

private:
  std::string path(const llvm::Twine &name) const { return (folder + "/" + name).str(); }

  /// The standard output of a command goes to `output`.
  llvm::Error call(llvm::ArrayRef<std::string> command, const std::string &output) {
    std::string errors = path("errors"), message;
    llvm::sys::fs::remove(output); // redirection would leave the end of a longer text
    llvm::sys::fs::remove(errors);
    llvm::SmallVector<llvm::StringRef> words(command.begin(), command.end());
    std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(output), llvm::StringRef(errors)};
    if (llvm::sys::ExecuteAndWait(words.front(), words, std::nullopt, redirects, 0, 0, &message) == 0)
      return llvm::Error::success();
    if (auto said = readInputFile(errors, limits::tableBytes))
      message += (*said)->getBuffer().rtrim();
    else
      llvm::consumeError(said.takeError());
    return llvm::createStringError(llvm::sys::path::filename(words.front()) + " failed: " + message);
  }

  llvm::Expected<std::string> read(const std::string &file) {
    auto text = readInputFile(file, limits::tableBytes);
    if (!text)
      return llvm::createStringError("cannot read " + file + ": " + llvm::toString(text.takeError()));
    return (*text)->getBuffer().str();
  }

  llvm::Expected<std::vector<MachineKernel>> disassemble(const std::string &cubin) {
    std::optional<std::string> tool =
        disassembler.empty() ? findCudaTool("nvdisasm") : std::optional<std::string>(disassembler);
    if (!tool)
      return llvm::createStringError(
          "nvdisasm, which reads machine code, is not installed: it is in the CUDA Toolkit, and "
          "`python3 tools/dev/kernel-peers.py --environment FOLDER --tools` installs it from PyPI; --nvdisasm names "
          "it");
    if (!disassembler.empty() && !llvm::sys::fs::can_execute(*tool))
      return llvm::createStringError(
          "--nvdisasm " + *tool + ": " +
          (llvm::sys::fs::exists(*tool) ? "this cannot be executed" : "there is no such file") +
          "; expected the program nvdisasm of the CUDA Toolkit");
    if (llvm::Error error = call({*tool, "-c", cubin}, path("code")))
      return std::move(error);
    llvm::Expected<std::string> text = read(path("code"));
    if (!text)
      return text.takeError();
    return readMachineCode(*text);
  }

  llvm::Expected<std::string> compile(llvm::StringRef emit, llvm::StringRef architecture) {
    std::vector<std::string> command = {tools + "/ppc-compile",
                                        programModel.empty() ? path("config.json") : programModel.getValue(),
                                        "--precision",
                                        "bf16",
                                        "--target",
                                        "cuda",
                                        "--cuda-arch",
                                        architecture.str(),
                                        "--emit=" + emit.str(),
                                        "-o",
                                        path("program." + emit)};
    llvm::SmallVector<llvm::StringRef> options;
    llvm::SplitString(programLayout, options, " ");
    command.insert(command.end(), options.begin(), options.end());
    if (llvm::Error error = call(command, path("printed")))
      return std::move(error);
    return read(path("program." + emit));
  }

  llvm::Error writeModel() {
    llvm::Expected<OutputFile> file = CommandFiles().writes("--model", path("config.json"));
    if (!file)
      return file.takeError();
    return file->write([](llvm::raw_ostream &out) {
      out << defaultModel;
      return llvm::Error::success();
    });
  }

  llvm::Error printPeers(const GpuModel &gpu) {
    for (const std::string &file : peers) {
      llvm::Expected<std::string> bytes = read(file);
      if (!bytes)
        return bytes.takeError();
      llvm::Expected<std::vector<MachineKernel>> kernels = std::vector<MachineKernel>();
      if (llvm::StringRef(*bytes).starts_with("\x7f"
                                              "ELF"))
        kernels = disassemble(file);
      else
        kernels = readMachineCode(*bytes);
      if (!kernels)
        return kernels.takeError();
      if (kernels->empty())
        return llvm::createStringError(file + " has no kernel: expected a cubin, or what nvdisasm -c prints of one");
      llvm::outs() << llvm::sys::path::filename(file) << "\n";
      printMachineCode(*kernels, gpu, llvm::outs());
    }
    return llvm::Error::success();
  }

  llvm::Error printProgram(const GpuModel &gpu);
  llvm::Error readTraffic(llvm::StringRef text);

  std::string tools, folder;
  struct Traffic {
    std::string function;
    int64_t calls = 0, least = 0;
  };
  llvm::StringMap<Traffic> traffic; // by kernel
};

int64_t numberOf(llvm::StringRef cell) {
  int64_t value = 0;
  cell.getAsInteger(10, value); // empty if unknown
  return value;
}

/// function,calls,kernel,bytes read,bytes written,least read,least written
llvm::Error KernelsCommand::readTraffic(llvm::StringRef text) {
  llvm::Expected<CsvTable> table = readCsv("--emit=traffic", text);
  if (!table)
    return table.takeError();
  traffic.clear();
  for (const std::vector<std::string> &row : table->rows)
    if (llvm::StringRef kernel = row[2]; !kernel.ends_with(" kernels")) {
      Traffic &of = traffic[kernel];
      if (of.function.empty())
        of.function = row[0];
      of.calls += numberOf(row[1]);
      of.least = std::max(of.least, numberOf(row[5]) + numberOf(row[6]));
    }
  return llvm::Error::success();
}

llvm::Error KernelsCommand::printProgram(const GpuModel &gpu) {
  llvm::StringRef architecture = gpu.architecture.name;
  std::optional<std::string> assembler = findCudaTool("ptxas");
  if (!assembler)
    return llvm::createStringError("ptxas, which makes machine code, is not installed: it is in the CUDA Toolkit");
  llvm::Expected<std::string> moved = compile("traffic", architecture);
  if (!moved)
    return moved.takeError();
  if (llvm::Error error = readTraffic(*moved))
    return error;
  llvm::Expected<std::string> text = compile("kernels", architecture);
  if (!text)
    return text.takeError();
  llvm::Expected<CsvTable> table = readCsv("--emit=kernels", *text);
  if (!table)
    return table.takeError();
  llvm::Expected<std::string> ptx = compile("ptx", architecture);
  if (!ptx)
    return ptx.takeError();
  if (llvm::Error error = call(
          {*assembler, "-arch", architecture.str(), path("program.ptx"), "-o", path("program.cubin")}, path("printed")))
    return error;
  llvm::Expected<std::vector<MachineKernel>> code = disassemble(path("program.cubin"));
  if (!code)
    return code.takeError();
  llvm::StringMap<const MachineKernel *> byName;
  for (const MachineKernel &kernel : *code)
    byName[kernel.name] = &kernel;
  std::vector<ProgramKernel> kernels;
  for (const std::vector<std::string> &row : table->rows) {
    const MachineKernel *found = byName.lookup(row[1]);
    if (!found)
      return llvm::createStringError("machine code of " + architecture + " lacks kernel " + row[1]);
    const Traffic &of = traffic[row[1]];
    kernels.push_back({of.function,
                       of.calls,
                       *found,
                       {numberOf(row[2]), numberOf(row[3]), numberOf(row[5]), numberOf(row[7]), numberOf(row[8]),
                        numberOf(row[9]), numberOf(row[10])},
                       numberOf(row[6]),
                       of.least});
  }
  printKernels(kernels, gpu, llvm::outs());
  return llvm::Error::success();
}

} // namespace

bool isKernelsRequested() { return bool(kernelsCommand); }

int runKernels(const char *program) {
  auto fail = [](llvm::Error error) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  };
  ScratchFolder folder("ppc-kernels");
  if (folder.failure())
    return fail(llvm::createStringError("cannot make a temporary folder: " + folder.failure().message()));
  std::string self = llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&runKernels));
  llvm::Error error = KernelsCommand(llvm::sys::path::parent_path(self).str(), folder.name().str()).run();
  return error ? fail(std::move(error)) : 0;
}

} // namespace mlir::ppc
