// Whether ranks that were started apart have the same program, options, files and environment: each could have others,
// and together they would compute what none of them was asked for.
#pragma once

#include "runtime/include/ppcrt.h"
#include "runtime/launch/RankLink.h"
#include "runtime/program/Manifest.h"
#include "runtime/run/Options.h"

#include <string>
#include <vector>

namespace ppcrt {

// One thing in which ranks have to be alike.
struct RunFact {
  std::string name;     // an option, "--data .idx", "program", "environment variable NAME"
  std::string compared; // what has to be equal
  std::string shown;    // the same for people
};

// What this rank was started with: the program and its plan, all options of the table that may not differ, the
// variables of the environment that decide numbers, and the files that the options name, by size, hash and ending. All
// ranks call it together: those that read the same file of a machine read a part of it each. What cannot be read is a
// fact, too.
std::vector<RunFact> startFacts(RankLink &link, const ppcrt_program &program, const Manifest &manifest,
                                const Options &options);

// All ranks call it together. Throws InputError in all of them where some differ: a line for each fact that does, with
// the values and the ranks that have them.
void checkAlike(RankLink &link, const std::vector<RunFact> &mine);

} // namespace ppcrt
