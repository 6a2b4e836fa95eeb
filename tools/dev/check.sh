#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Can be run again: only changed files are built.
#   usage: check.sh [--preset dev|release|asan] [--jobs N] [--no-setup]
# The last line of the output is `N passed, N failed`; the exit status is 0 when nothing failed.
set -euo pipefail

usage() { sed -n '2,4s/^# *//p' "$0"; }
cd "$(dirname "$0")/../.."
preset=dev
jobs=$(nproc)
setup=1
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --no-setup) setup=0; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
done

# A stop of the script before a test ran counts as one failure.
results=build/$preset/check.json
trap 'status=$?; [ $status -eq 0 ] || [ -n "${counted:-}" ] || { echo "check: stopped before the tests"; echo "0 passed, 1 failed"; }' EXIT

[ $setup -eq 0 ] || bash tools/dev/setup.sh
bash tools/dev/check-format.sh || { echo "check: these files are not formatted: run tools/dev/check-format.sh --fix" >&2; exit 1; }
echo "check: configuring (preset $preset)"
cmake --preset "$preset" >"/tmp/ppc-configure.$$" 2>&1 || { cat "/tmp/ppc-configure.$$"; rm -f "/tmp/ppc-configure.$$"; exit 1; }
rm -f "/tmp/ppc-configure.$$"

echo "check: building with $jobs jobs"
started=$SECONDS
cmake --build "build/$preset" --target all ppc-test-depends -j "$jobs"
echo "check: built in $((SECONDS - started)) s"

echo "check: testing"
started=$SECONDS
rm -f "$results"
LIT_OPTS="${LIT_OPTS:-} -sv -j$jobs -o $PWD/$results" cmake --build "build/$preset" --target check-ppc || true
echo "check: tested in $((SECONDS - started)) s"
[ -f "$results" ] || exit 1
counted=1
exec python3 tools/dev/count-tests.py "$results"
