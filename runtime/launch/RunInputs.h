// The files that decide what a run computes, by the options that name them.
#pragma once

#include <string>
#include <vector>

namespace ppcrt {

struct Options;

struct RunInput {
  std::string option;
  std::string part; // of what the option names: a file in a folder, an index beside the data; empty: all of it
  std::string path;
};

// Every file whose content a run reads, whether or not it is there, in an order that follows from the options and the
// names: data and its index, tokenizer, weights with their index and configuration, emulation, and of each checkpoint
// that a resumed run may go on from the list of its files, which holds their checksums.
std::vector<RunInput> runInputs(const Options &options);

// The path of the configuration that belongs to the weights of a folder or of an index, whether or not it is there: a
// run reads it of a folder alone, and whoever reads the folder later needs it. Empty for one file of weights.
std::string configOfWeights(const std::string &weights);

} // namespace ppcrt
