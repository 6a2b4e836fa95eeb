#!/usr/bin/env bash
# From a bare Debian 12 machine to a trained model: installs what is missing, builds, compiles a small LLaMA from a
# Hugging Face config.json for 4 ranks (data parallel 2 x tensor parallel 2), trains it on English text, trains the same
# model on one rank, and prints both side by side. Programs of the first step are built first, the others while it trains.
# Can be run again: only changed files are built.
#   usage: demo.sh [--data FILE] [--steps N] [--jobs N] [--no-setup]
# Without --data the text is the Jargon File of the Debian package jargon-text.
set -euo pipefail

usage() { sed -n '2,7s/^# *//p' "$0"; }
cd "$(dirname "$0")/../.."
data=
steps=600
jobs=$(nproc)
setup=1
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=$(realpath "${2:?--data needs a file}"); shift 2 ;;
    --steps) steps=${2:?--steps needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --no-setup) setup=0; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown option '$1' (see --help)" >&2; exit 2 ;;
  esac
done
work=$PWD/build/demo
bin=$PWD/build/release/bin
mkdir -p "$work"
started=$SECONDS
say() { printf 'demo: [%3d s] %s\n' $((SECONDS - started)) "$*"; }

[ $setup -eq 0 ] || bash tools/dev/setup.sh

if [ -z "$data" ]; then
  data=$work/jargon.txt
  if [ ! -s "$data" ]; then
    say "fetching English text: the Debian package jargon-text"
    rm -rf "$work/text" && mkdir -p "$work/text"
    # Unpacked and not installed: needs no root, and works where dpkg leaves out /usr/share/doc.
    if ! (cd "$work/text" && apt-get -q=2 download jargon-text >apt.log 2>&1 && dpkg-deb -x jargon-text_*.deb .); then
      cat "$work/text/apt.log" >&2
      echo "error: the package jargon-text cannot be fetched; name a text of at least 100 KB with --data FILE" >&2
      exit 1
    fi
    gzip -dc "$work/text/usr/share/doc/jargon-text/jargon.txt.gz" | cat -s >"$data.part"
    mv "$data.part" "$data"
  fi
fi

say "building ppc-compile and its runtime with $jobs jobs (preset release)"
cmake --preset release >"$work/configure.log" 2>&1 || { cat "$work/configure.log" >&2; exit 1; }
cmake --build --preset release -j "$jobs" --target ppc-compile ppcrt

cat >"$work/config.json" <<'CONFIG'
{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "vocab_size": 256,
  "hidden_size": 192,
  "intermediate_size": 512,
  "num_hidden_layers": 4,
  "num_attention_heads": 6,
  "num_key_value_heads": 2,
  "max_position_embeddings": 128,
  "rms_norm_eps": 1e-05,
  "rope_theta": 10000.0,
  "hidden_act": "silu",
  "initializer_range": 0.02,
  "tie_word_embeddings": false
}
CONFIG

shape=(--seq-len 128 --global-batch 16)
say "compiling $work/config.json for 4 ranks; the planner chooses the layout"
"$bin/ppc-compile" "$work/config.json" "${shape[@]}" --ranks 4 -o "$work/train-4"
say "compiling it for 1 rank"
"$bin/ppc-compile" "$work/config.json" "${shape[@]}" --ranks 1 -o "$work/train-1"

# With what time the ranks leave over, so that their figures stay what they are.
idle=(nice -n 19)
if chrt --idle 0 true 2>/dev/null; then idle=(chrt --idle 0); fi
say "building the other programs meanwhile (build/demo/build.log)"
"${idle[@]}" cmake --build --preset release -j "$jobs" --target ppc-plan ppc-module-reader ppc-bench ppc-opt >"$work/build.log" 2>&1 &
others=$!
trap 'kill $others 2>/dev/null || true' EXIT

options=(--data "$data" --steps "$steps" --lr 1e-3 --warmup $((steps / 20 + 1)) --seed 1 --print-every $((steps / 6 + 1)))
say "training on 4 ranks, $steps steps"
"$work/train-4" "${options[@]}" --log "$work/train-4.jsonl"
say "training on 1 rank, the same $steps steps"
"$work/train-1" "${options[@]}" --log "$work/train-1.jsonl"

say "waiting for the other programs"
wait "$others" || { tail -n 20 "$work/build.log" >&2; exit 1; }
trap - EXIT
say "done; programs are in $bin, what trained is $work/train-4 (try --help)"
python3 tools/dev/demo-table.py "$data" "$work/train-4.jsonl" "$work/train-1.jsonl"
