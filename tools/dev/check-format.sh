#!/usr/bin/env bash
# Checks every C++ file with .clang-format (120 columns). Prints the first differing lines of each file, changes nothing.
#   usage: check-format.sh [--fix | --self-test]
# --fix formats the files in place. The version is fixed, since others break lines elsewhere; $CLANG_FORMAT names another program.
set -euo pipefail

usage() { sed -n '2,4s/^# *//p' "$0"; }
cd "$(dirname "$0")/../.."
format=${CLANG_FORMAT:-clang-format-22}
command -v "$format" >/dev/null || { echo "error: $format is missing: run tools/dev/setup.sh" >&2; exit 1; }

# Files of a checkout, also new ones; of a tree without its history all that are not in a build folder.
sources() {
  { git ls-files --cached --others --exclude-standard -- '*.cpp' '*.h' 2>/dev/null ||
    find . -path ./build -prune -o \( -name '*.cpp' -o -name '*.h' \) -print; } | sort -u |
    while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
}

case ${1:-} in
  "") sources | xargs -P "$(nproc)" -n 50 "$format" --dry-run -Werror --ferror-limit=3 ;;
  --fix) sources | xargs -P "$(nproc)" -n 50 "$format" -i ;;
  --self-test)
    wide=$(printf 'int   f( int x );' | "$format" --assume-filename=lib/wide.cpp --dry-run -Werror 2>&1) && status=0 || status=$?
    [ $status -ne 0 ] && [[ $wide == *"should be clang-formatted"* ]] || { echo "error: a badly formatted file passes" >&2; exit 1; } ;;
  -h | --help) usage ;;
  *) echo "error: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
