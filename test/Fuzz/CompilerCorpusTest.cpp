// What the readers of the compiler are fuzzed with compiles, and holds for the inputs in the tree, in every build.
#include "Corpus.h"

PPC_FUZZ_CORPUS_TEST(Cluster)
PPC_FUZZ_CORPUS_TEST(LayoutFile)
PPC_FUZZ_CORPUS_TEST(ModelConfig)
PPC_FUZZ_CORPUS_TEST(OpCuts)
