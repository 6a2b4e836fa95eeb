# lit configuration: which files are tests, which programs they find, which features are on.
# Features below say which programs this machine has, for REQUIRES (docs/internals/Testing.md, Rules).
import os
import shutil

import lit.formats

config.name = "PPC"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "lib", "Unit", "Runtime"]
config.test_source_root = config.ppc_source + "/test"
config.test_exec_root = config.ppc_build + "/test"

# Programs are found by name, ours first, then those of the LLVM packages; nothing needs a substitution.
config.environment["PATH"] = os.pathsep.join([config.ppc_build + "/bin", config.llvm_tools, "/usr/bin", "/bin"])
config.environment["HOME"] = config.test_exec_root
# Variables that tools/dev/stress-tests.py sets.
for name in ("ONEDNN_MAX_CPU_ISA", "PPC_TEST_SEED"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions += [
    ("%python", shutil.which("python3", path="/usr/bin") or "python3"),
    ("%source", config.ppc_source),
    ("%build", config.ppc_build),
    ("%inputs", config.test_source_root + "/Inputs"),
]

# If mpirun is installed, programs are also started by it.
if shutil.which("mpirun", path="/usr/bin"):
    config.available_features.add("mpirun")

# NVIDIA's assembler, where the CUDA Toolkit is installed: PTX is then assembled, too.
ptxas = shutil.which("ptxas", path="/usr/bin:/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))

# Its disassembler: of the toolkit, or of the environment that tools/dev/kernel-peers.py makes.
nvdisasm = shutil.which("nvdisasm", path=config.ppc_build + "/kernel-peers/bin:/usr/bin:/usr/local/cuda/bin")
if nvdisasm:
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%nvdisasm", nvdisasm))

# The page of ppc-plan is looked at where there is a browser that runs without a window.
browser = shutil.which("chromium", path="/usr/bin") or shutil.which("google-chrome", path="/usr/bin")
if browser:
    config.available_features.add("browser")
    config.substitutions.append(("%browser", browser))

lit_config.load_config(config, config.ppc_source + "/test/sanitize.cfg.py")
