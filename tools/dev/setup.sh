#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, and only those that are missing.
# Lists the packages that it installs; prints nothing if none is missing. Works as root or with sudo; can be run again.
#   usage: setup.sh [--dry-run]
set -euo pipefail

usage() { sed -n '2,4s/^# *//p' "$0"; }
dry_run=0
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown option '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

# package             what it is for
packages=$(sed 's/ *#.*//' <<'TABLE'
cmake                 # configure
ninja-build           # build
ccache                # a second build in seconds
g++                   # `cc` links the compiled programs; standard C++ library
clang-22              # the compiler of the presets
lld-22                # the linker of the presets
clang-format-22       # the format check
libclang-rt-22-dev    # preset asan
llvm-22-dev           # LLVM: code generation
libmlir-22-dev        # MLIR: the IR
mlir-22-tools         # mlir-tblgen
llvm-22-tools         # lit, FileCheck, not, split-file
zlib1g-dev            # found by LLVM's CMake files
libzstd-dev           # found by LLVM's CMake files
libdnnl-dev           # oneDNN: matmuls on the host
nlohmann-json3-dev    # JSON in the runtime
libpcre2-8-0          # regular expressions of tokenizers, loaded by programs that read one
libgtest-dev          # unit tests
openmpi-bin           # mpirun, for the tests of the transport mpi
libopenmpi-dev        # mpi.h, whose constants a test compares with those of the runtime
python3               # lit and the scripts of tools/dev
python3-numpy         # results of models, computed outside of the compiler (test/Models)
TABLE
)

missing=()
for package in $packages; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: ${#missing[@]} Debian packages are missing: ${missing[*]}"
[ $dry_run -eq 1 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
else
  echo "error: installing packages needs root: run this as root, or install sudo, or have them installed with:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "setup: reading the package lists"
"${as_root[@]}" apt-get update -qq
unknown=()
for package in "${missing[@]}"; do
  [ -n "$(apt-cache madison "$package" 2>/dev/null)" ] || unknown+=("$package")
done
if [ ${#unknown[@]} -gt 0 ]; then
  echo "error: apt does not know ${unknown[*]}" >&2
  echo "  LLVM and MLIR 22 for Debian 12 are in the suite 'bookworm-security', component 'main': add it to the sources of apt." >&2
  echo "  On another release, any source of llvm-22-dev, libmlir-22-dev, mlir-22-tools, clang-22 and lld-22 will do." >&2
  exit 1
fi
echo "setup: installing"
log=$(mktemp)
if ! "${as_root[@]}" apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "error: apt-get could not install the packages; all its output is in $log" >&2
  exit 1
fi
rm -f "$log"
echo "setup: done"
