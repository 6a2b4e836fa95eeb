// The fuzzed readers of the compiler compile, and hold for the inputs in the tree, in every build.
#include "Corpus.h"

PPC_FUZZ_CORPUS_TEST(Cluster)
PPC_FUZZ_CORPUS_TEST(LayoutFile)
PPC_FUZZ_CORPUS_TEST(ModelConfig)
PPC_FUZZ_CORPUS_TEST(OpCuts)
