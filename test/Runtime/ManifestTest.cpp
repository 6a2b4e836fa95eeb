// Manifest validation: every mistake names its key, says what was found and what is allowed.
#include "runtime/core/Manifest.h"
#include "runtime/core/Error.h"
#include "test/Runtime/BigramProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace ppcrt;
using nlohmann::json;

namespace {

// The error that a manifest gives, or "no error".
std::string errorOf(const std::string &text) {
  try {
    parseManifest(text);
    return "no error";
  } catch (const InputError &error) {
    return error.what();
  }
}

struct Mistake {
  const char *pointer; // what is changed (JSON pointer) in the manifest of 2 stages x 2 x 2
  const char *value;   // its new value; empty: removed
  const char *error;
};

// Buffers of stage 0: 0-2 E (parameter, gradient, state), 3 ids, 4 h, 5 gh, 6 lossSum, 7 lr, 8 loss, 9 norm.
// Actions of stage 0: forward 0, send 0, forward 1, send 1, receive 0, backward 0, ...
const Mistake mistakes[] = {
    {"/format", "2", "manifest: format: this runtime reads format 1 only: compile the program again"},
    {"/abi", "7", "manifest: abi: this runtime has ABI 1: compile the program again"},
    {"/axes", "", "manifest: top level: missing key \"axes\""},
    {"/axes/1/size", "0", "manifest: axes[1].size: expected an integer from 1 to 1024, found 0"},
    {"/axes/1/size", "2000000000", "manifest: axes[1].size: expected an integer from 1 to 1024, found 2000000000"},
    {"/axes/1/size", "1000", "manifest: axes: more than 1024 ranks"},
    {"/axes/1/name", "\"tp\"", "manifest: axes[2].name: axis \"tp\" is defined twice"},
    {"/axes/0/name", "\"pipe\"", "manifest: groups[2].axes[0]: no axis named \"pp\" in \"axes\""},
    {"/groups/0/axes/0", "3", "manifest: groups[0].axes[0]: expected a string, found 3"},
    {"/groups/0/stages", "[2]", "manifest: groups[0].stages[0]: expected an integer from 0 to 1, found 2"},
    {"/micro_batches", "3", "manifest: micro_batches: 3 does not divide the global batch of 8"},
    {"/sequence_length", "\"long\"",
     "manifest: sequence_length: expected an integer from 1 to 1073741824, found \"long\""},
    {"/vocabulary", "1.5", "manifest: vocabulary: expected an integer from 1 to 2147483647, found 1.5"},
    {"/parameters/1/name", "\"E\"", "manifest: parameters[1].name: parameter \"E\" is defined twice"},
    {"/parameters/0/type", "\"f16\"",
     "manifest: parameters[0].type: unknown type \"f16\"; known: f32, f64, i32, i64, bf16"},
    {"/parameters/0/init/kind", "\"xavier\"",
     "manifest: parameters[0].init.kind: unknown value \"xavier\"; known: zeros, ones, normal"},
    {"/parameters/0/init/std", "", "manifest: parameters[0].init: missing key \"std\""},
    {"/parameters/0/shape", "[999999999999, 999999999999]", "manifest: parameters[0].shape: more than 2^46 elements"},
    {"/stages/1", "", "manifest: stages: 1 stages, but axis \"pp\" has size 2"},
    {"/stages/0/slots", "100000", "manifest: stages[0]: the slots do not lie within \"arena_bytes\""},
    {"/stages/0/slots", "1",
     "manifest: stages[0].actions[2]: micro-batch 1 begins in slot 0 while micro-batch 0 still uses it (1 slots)"},
    {"/stages/0/slot_bytes", "100", "manifest: stages[0]: \"slot_offset\" and \"slot_bytes\" must be multiples of 64"},
    {"/stages/0/buffers/0/role", "\"weight\"",
     "manifest: stages[0].buffers[0].role: unknown value \"weight\"; known: parameter, state, gradient, accumulator, "
     "input, "
     "saved, message, scalar, metric, scratch, prepared"},
    {"/stages/0/buffers/0/name", "\"X\"",
     "manifest: stages[0].buffers[0].name: no parameter named \"X\" in \"parameters\""},
    {"/stages/0/buffers/0/offset", "4", "manifest: stages[0].buffers[0].offset: 4 is not a multiple of 64"},
    {"/stages/0/buffers/0/offset", "64",
     "manifest: stages[0]: buffers[1] (gradient E) overlaps buffers[0] (parameter E) at "
     "byte 3200 of the arena"},
    {"/stages/0/buffers/0/shape", "[65, 12]",
     "manifest: stages[0].buffers[0]: parameter \"E\" is [65, 12] of f32, expected [66, 12] of f32"},
    {"/stages/0/buffers/0/type", "\"i32\"",
     "manifest: stages[0].buffers[0]: parameter \"E\" is [66, 12] of i32, expected [66, 12] of f32"},
    {"/stages/0/buffers/3/space", "\"arena\"", "manifest: stages[0].buffers[3]: role input must lie in the slot"},
    {"/stages/0/buffers/0/blocks/0/dim", "2",
     "manifest: stages[0].buffers[0].blocks[0].dim: expected an integer from 0 to 1, found 2"},
    {"/stages/0/buffers/0/blocks/0/axes/0", "\"pp\"",
     "manifest: stages[0].buffers[0].blocks[0]: axis \"pp\" cannot cut this buffer (again)"},
    {"/stages/0/buffers/2/state", "", "manifest: stages[0].buffers[2]: missing key \"state\""},
    {"/stages/0/buffers/3/name", "\"labels\"",
     "manifest: stages[0].buffers[3].name: unknown value \"labels\"; known: ids, targets"},
    {"/stages/0/buffers/3/shape", "[3, 16]",
     "manifest: stages[0].buffers[3]: input \"ids\" is [3, 16] of i32, expected [2, 16] of i32"},
    {"/stages/0/buffers/9/offset", "1000000000",
     "manifest: stages[0].buffers[9]: bytes 1000000000 to 1000000004 do not lie within the arena of 16256 bytes"},
    {"/stages/0/functions/forward/buffers/0", "10",
     "manifest: stages[0].functions.forward.buffers[0]: expected an integer from 0 to 9, found 10"},
    {"/stages/0/functions/update/buffers/0", "3",
     "manifest: stages[0].functions.update.buffers[0]: \"update\" belongs to no micro-batch and cannot use a buffer in "
     "a "
     "slot"},
    {"/stages/0/actions/0/do", "\"sleep\"",
     "manifest: stages[0].actions[0].do: unknown value \"sleep\"; known: forward, backward, weight_gradient, send, "
     "receive"},
    {"/stages/0/actions/0/micro_batch", "2",
     "manifest: stages[0].actions[0].micro_batch: expected an integer from 0 to 1, found 2"},
    {"/stages/0/actions/1/stage", "0",
     "manifest: stages[0].actions[1].stage: a stage cannot exchange messages with itself"},
    {"/stages/0/actions/1/tag", "9", "manifest: stages[0].actions[1]: no receive in stage 1 matches"},
    {"/stages/1/actions/0", "", "manifest: stages[0].actions[1]: no receive in stage 1 matches"},
    {"/stages/0/actions/1", "", "manifest: stages[1].actions[0]: no send in stage 0 matches"},
    {"/stages/0/actions/3/micro_batch", "0",
     "manifest: stages[0].actions[3]: a second send with tag 0, micro-batch 0 and peer stage 1"},
    {"/stages/0/actions/1/buffer", "3",
     "manifest: stages[0].actions[1]: sends 128 bytes, but stages[1].actions[0] receives 1536"},
    {"/predicted", "{\"peak_memory_bytes\": [1]}",
     "manifest: predicted.peak_memory_bytes: expected one value for each of 2 stages"},
};

TEST(ManifestTest, TheUnchangedManifestIsValid) {
  Manifest manifest = parseManifest(test::bigramManifest(2, 2, 2));
  EXPECT_EQ(manifest.grid.rankCount(), 8);
  EXPECT_EQ(manifest.stages[0].buffers[0].shape, (std::vector<int64_t>{66, 12}));
}

TEST(ManifestTest, MistakesNameTheirKey) {
  for (const Mistake &mistake : mistakes) {
    json manifest = json::parse(test::bigramManifest(2, 2, 2));
    json::json_pointer pointer(mistake.pointer);
    if (*mistake.value)
      manifest[pointer] = json::parse(mistake.value);
    else if (json &parent = manifest[pointer.parent_pointer()]; parent.is_array())
      parent.erase(std::stoul(pointer.back()));
    else
      parent.erase(pointer.back());
    EXPECT_EQ(errorOf(manifest.dump()), mistake.error) << mistake.pointer << " = " << mistake.value;
  }
}

TEST(ManifestTest, BrokenJsonNamesTheByte) {
  EXPECT_EQ(errorOf("{\"format\": 1,"), "manifest: not valid JSON at byte 14 of 13");
  EXPECT_EQ(errorOf(""), "manifest: not valid JSON at byte 1 of 0");
  EXPECT_EQ(errorOf("[]"), "manifest: top level: expected an object, found []");
}

// Values of a wrong kind anywhere: an error or a valid manifest, never a crash.
TEST(ManifestTest, AnyReplacedValueIsRefusedOrHarmless) {
  json original = json::parse(test::bigramManifest(2, 1, 2)), flat = original.flatten();
  for (const auto &[pointer, value] : flat.items())
    for (const json &other : {json(-1), json(1e300), json("x"), json(nullptr), json::array(), json::object(),
                              json(uint64_t(-1)), json(true)}) {
      json changed = original;
      changed[json::json_pointer(pointer)] = other;
      errorOf(changed.dump());
    }
}

} // namespace
