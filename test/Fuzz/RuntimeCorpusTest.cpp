// The fuzzed readers of the runtime compile, and hold for the inputs in the tree, in every build.
#include "Corpus.h"

PPC_FUZZ_CORPUS_TEST(CheckpointIndex)
PPC_FUZZ_CORPUS_TEST(Manifest)
PPC_FUZZ_CORPUS_TEST(SafeTensors)
PPC_FUZZ_CORPUS_TEST(TokenData)
PPC_FUZZ_CORPUS_TEST(TokenIndex)
PPC_FUZZ_CORPUS_TEST(Tokenizer)
PPC_FUZZ_CORPUS_TEST(WeightFiles)
