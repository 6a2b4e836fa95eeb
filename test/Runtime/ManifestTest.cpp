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

// Buffers of device 0: 0-2 E (parameter, gradient, state), 3 ids, 4 h, 5 gh, 6 lossSum, 7 lr, 8 loss, 9 norm.
// Actions of device 0: 0 load 0, forward 0, send 0, 3 load 1, forward 1, send 1, 6 receive 0, backward 0, 8 receive 1,
// backward 1, 10 update. Of device 1: 0 load 0, receive 0, forward 0, 3 load 1, ...
const Mistake mistakes[] = {
    {"/format", "1", "manifest: format: this runtime reads formats 3 and 4 only: compile the program again"},
    {"/format", "2", "manifest: format: this runtime reads formats 3 and 4 only: compile the program again"},
    {"/abi", "1",
     "manifest: abi: 1 is the C interface of another version, this runtime has ABI 4: compile the program again"},
    {"/abi", "2",
     "manifest: abi: 2 is the C interface of another version, this runtime has ABI 4: compile the program again"},
    {"/abi", "7",
     "manifest: abi: 7 is the C interface of another version, this runtime has ABI 4: compile the program again"},
    {"/axes", "", "manifest: top level: missing key \"axes\""},
    {"/axes/1/size", "0", "manifest: axes[1].size: expected an integer from 1 to 16384, found 0"},
    {"/axes/1/size", "2000000000", "manifest: axes[1].size: expected an integer from 1 to 16384, found 2000000000"},
    {"/axes/1/size", "1000", "manifest: axes: more than 1024 ranks, with which no program starts"},
    {"/axes/1/name", "\"tp\"", "manifest: axes[2].name: axis \"tp\" is defined twice"},
    {"/axes/0/name", "\"pipe\"", "manifest: axes: the first axis must be \"pp\""},
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
    {"/parameters/0/init/zero_row", "99", "manifest: parameters[0].init.zero_row: expected an integer from 0 to "},
    {"/parameters/0/shape", "[999999999999, 999999999999]", "manifest: parameters[0].shape: more than 2^46 elements"},
    {"/devices/1", "", "manifest: devices: 1 devices, but axis \"pp\" has size 2"},
    {"/devices/0/buffers/4/slots", "100000",
     "manifest: devices[0].buffers[4]: 100000 slots of 1536 bytes from byte 9856 on do not lie within the arena of "
     "16256 "
     "bytes"},
    {"/devices/0/buffers/4/slots", "1",
     "manifest: devices[0].step[7]: micro-batch 0 uses a slot that micro-batch 1 has used since (1 slots)"},
    {"/devices/0/buffers/4/slots", "", "manifest: devices[0].buffers[4]: role message needs \"slots\""},
    {"/devices/0/buffers/6/slots", "1", "manifest: devices[0].buffers[6]: missing key \"stride\""},
    {"/devices/0/buffers/4/stride", "100",
     "manifest: devices[0].buffers[4].stride: 100 is not a multiple of 64 of at least 1536, the bytes of a slot"},
    {"/devices/0/buffers/4/stride", "1472",
     "manifest: devices[0].buffers[4].stride: 1472 is not a multiple of 64 of at least 1536, the bytes of a slot"},
    {"/devices/0/buffers/0/role", "\"weight\"",
     "manifest: devices[0].buffers[0].role: unknown value \"weight\"; known: parameter, state, gradient, accumulator, "
     "input, "
     "saved, message, scalar, metric, scratch, prepared, gathered"},
    {"/devices/0/buffers/0/name", "\"X\"",
     "manifest: devices[0].buffers[0].name: no parameter named \"X\" in \"parameters\""},
    {"/devices/0/buffers/0/offset", "4", "manifest: devices[0].buffers[0].offset: 4 is not a multiple of 64"},
    {"/devices/0/buffers/0/offset", "64",
     "manifest: devices[0]: buffers[1] (gradient E) overlaps buffers[0] (parameter E) at "
     "byte 3200 of the memory"},
    {"/devices/0/buffers/0/shape", "[65, 12]",
     "manifest: devices[0].buffers[0]: parameter \"E\" is [65, 12] of f32, expected [66, 12] of f32"},
    {"/devices/0/buffers/0/type", "\"i32\"",
     "manifest: devices[0].buffers[0]: parameter \"E\" is [66, 12] of i32, expected [66, 12] of f32"},
    {"/devices/0/buffers/0/blocks/0/dim", "2",
     "manifest: devices[0].buffers[0].blocks[0].dim: expected an integer from 0 to 1, found 2"},
    {"/devices/0/buffers/0/blocks/0/axes/0", "\"pp\"",
     "manifest: devices[0].buffers[0].blocks[0]: axis \"pp\" cannot cut this buffer (again)"},
    {"/devices/0/buffers/2/state", "", "manifest: devices[0].buffers[2]: missing key \"state\""},
    {"/devices/0/buffers/3/name", "\"labels\"",
     "manifest: devices[0].buffers[3].name: unknown value \"labels\"; known: ids, targets"},
    {"/devices/0/buffers/3/shape", "[1, 16]",
     "manifest: devices[0].buffers[3]: input \"ids\" is [1, 16] of i32, expected [2, 16] of i32"},
    {"/devices/0/buffers/9/offset", "1000000000",
     "manifest: devices[0].buffers[9]: bytes 1000000000 to 1000000004 do not lie within the arena of 16256 bytes"},
    {"/devices/0/routines/0/kind", "\"sideways\"",
     "manifest: devices[0].routines[0].kind: unknown value \"sideways\"; known: prepare, forward, backward, "
     "weight_gradient, update, evaluate"},
    {"/devices/0/routines/0/buffers/0", "10",
     "manifest: devices[0].routines[0].buffers[0]: expected an integer from 0 to 9, found 10"},
    {"/devices/0/routines/2/buffers/0", "3",
     "manifest: devices[0].routines[2].buffers[0]: \"update\" belongs to no micro-batch and cannot use a buffer with "
     "slots"},
    {"/devices/0/messages/0/to", "0",
     "manifest: devices[0].messages[0].to: a device cannot exchange messages with itself"},
    {"/devices/0/messages/0/from", "1",
     "manifest: devices[0].messages[0]: one of \"to\" and \"from\" is another device, the other, for the end that is "
     "here, -1"},
    {"/devices/0/messages/0/tag", "9", "manifest: devices[0].messages[0]: no device receives tag 9"},
    {"/devices/1/messages/0/tag", "9", "manifest: devices[0].messages[0]: no device receives tag 0"},
    {"/devices/0/messages/0/buffer", "3",
     "manifest: devices[0].messages[0]: sends 128 bytes, but devices[1].messages[0] receives 1536"},
    {"/devices/0/step/0/0", "6", "manifest: devices[0].step[0][0]: expected an integer from 0 to 5, found 6"},
    {"/devices/0/step/0/1", "3", "manifest: devices[0].step[0][1]: expected an integer from 0 to 2, found 3"},
    {"/devices/0/step/0/3", "2", "manifest: devices[0].step[0][3]: expected an integer from 0 to 1, found 2"},
    {"/devices/0/step/0/4", "1", "manifest: devices[0].step[0][4]: the first action comes after none"},
    {"/devices/0/step/1/2", "3", "manifest: devices[0].step[1][2]: expected an integer from 0 to 2, found 3"},
    {"/devices/0/step/1/3", "-1", "manifest: devices[0].step[1][3]: expected an integer from 0 to 1, found -1"},
    {"/devices/0/step/2/2", "1", "manifest: devices[0].step[2][2]: message 1 is received by this device"},
    {"/devices/0/step/2/4", "3", "manifest: devices[0].step[2][4]: expected an integer from 1 to 2, found 3"},
    {"/devices/0/step/10/3", "0", "manifest: devices[0].step[10][3]: expected an integer from -1 to -1, found 0"},
    {"/devices/0/step/3", "[0, 0]",
     "manifest: devices[0].step[3]: expected [what, stream, number, micro-batch, after...]"},
    {"/devices/0/step/3", "", "manifest: devices[0].step[3]: uses inputs of micro-batch 1 that are not loaded"},
    {"/devices/0/step/5/3", "0", "manifest: devices[0].messages[0]: micro-batch 0 is sent twice in \"step\""},
    {"/devices/0/step/5", "",
     "manifest: devices[1].messages[0]: receives micro-batch 1 in \"step\", which device 0 does not send"},
    {"/devices/1/step/4", "",
     "manifest: devices[0].messages[0]: sends micro-batch 1 in \"step\", which device 1 does not receive"},
    {"/devices/0/evaluate", "[[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0]]",
     "manifest: devices[0].messages[0]: sends micro-batch 0 in \"evaluate\", which device 1 does not receive"},
    {"/devices/0/step/0", "{\"repeat\": 2, \"step\": 1, \"actions\": [[0, 0, 0, 1]]}",
     "manifest: devices[0].step[0].actions[0]: the last of 2 turns is for micro-batch 2, and there are 2 "
     "micro-batches"},
    {"/devices/0/step/0", "{\"repeat\": 2, \"step\": 1, \"actions\": []}",
     "manifest: devices[0].step[0].actions: expected at least one action"},
    {"/devices/0/step/0", "{\"repeat\": 4000000, \"step\": 0, \"actions\": [[0, 0, 0, 0], [0, 0, 0, 0]]}",
     "manifest: devices[0].step[0]: more than 4194304 actions in a list"},
    {"/devices/0/step/2/4", "[1]", "manifest: devices[0].step[2][4]: expected [distance, number of an early token]"},
    {"/devices/0/step/2/4", "[1, 64]",
     "manifest: devices[0].step[2][4][1]: expected an integer from 0 to 63, found 64"},
    {"/devices/0/step/2/4", "[3, 0]", "manifest: devices[0].step[2][4][0]: expected an integer from 1 to 2, found 3"},
    {"/devices/0/step/2/4", "[1, 0]",
     "manifest: devices[0].step[2]: takes early token 0 of the action 1 before it, which gives 0"},
    {"/devices/0/routines/0/early_tokens", "65",
     "manifest: devices[0].routines[0].early_tokens: expected an integer from 0 to 64, found 65"},
    {"/devices/0/step/10", "[4, 0, 0, -1]",
     "manifest: devices[0].step[10][2]: expected an integer from 0 to -1, found 0"},
    {"/predicted", "{\"peak_memory_bytes\": [1]}",
     "manifest: predicted.peak_memory_bytes: expected one value for each of 2 devices"},
};

TEST(ManifestTest, TheUnchangedManifestIsValid) {
  Manifest manifest = parseManifest(test::bigramManifest(2, 2, 2));
  EXPECT_EQ(manifest.grid.rankCount(), 8);
  EXPECT_EQ(manifest.devices[0].buffers[0].shape, (std::vector<int64_t>{66, 12}));
}

// The actions of device 0 as text.
std::string actionsOf(const json &manifest) {
  std::string text;
  parseManifest(manifest.dump()).devices[0].step.forEach([&](int64_t place, const Action &action, int64_t microBatch) {
    text += format("%lld: %d %d %d %lld after", (long long)place, int(action.kind), action.stream, action.number,
                   (long long)microBatch);
    for (const Dependence &after : action.after)
      text += format(" %lld.%lld", (long long)after.distance, (long long)after.token);
    text += "\n";
  });
  return text;
}

TEST(ManifestTest, RepetitionsAreWhatTheyStandFor) {
  json whole = json::parse(test::bigramManifest(2, 1, 1)), shorter = whole;
  json &list = shorter["devices"][0]["step"];
  list = {{{"repeat", 2}, {"step", 1}, {"actions", {list[0], list[1], list[2]}}},
          {{"repeat", 2}, {"step", 1}, {"actions", {list[6], list[7]}}},
          list[10]};
  EXPECT_EQ(actionsOf(shorter), actionsOf(whole));
  json backwards = shorter;
  backwards["devices"][0]["step"][1]["step"] = -1;
  for (json &action : backwards["devices"][0]["step"][1]["actions"])
    action[3] = 1;
  EXPECT_NE(actionsOf(backwards), actionsOf(whole));
}

TEST(ManifestTest, MemoryOfTheHostLiesBehindTheArena) {
  json manifest = json::parse(test::bigramManifest(2, 2, 2)), &device = manifest["devices"][0];
  json &parameter = device["buffers"][0], staged = parameter; // 66 x 12 numbers
  staged["role"] = "gathered", staged.erase("name"), staged.erase("blocks");
  parameter["memory"] = "host", parameter["offset"] = 0;
  EXPECT_EQ(errorOf(manifest.dump()),
            "manifest: devices[0].buffers[0]: bytes 0 to 3168 do not lie within the memory of "
            "the host of 0 bytes");
  device["host_bytes"] = 4096;
  size_t count = device["buffers"].size(), actions = device["step"].size();
  device["buffers"].push_back(staged);
  device["copies"] = {{0, count}, {count, 0}};
  device["step"].push_back({5, 0, 0, -1});
  device["step"].push_back({5, 0, 1, -1, 1});
  Manifest read = parseManifest(manifest.dump());
  const Device &own = read.devices[0];
  EXPECT_EQ(own.buffers[0].offset, own.hostStart());
  EXPECT_EQ(own.hostStart() % 64, 0);
  EXPECT_GE(own.hostStart(), own.arenaBytes);
  EXPECT_EQ(own.memoryBytes(), own.hostStart() + 4096);
  EXPECT_EQ(own.buffers[count].offset, staged["offset"].get<int64_t>());
  device["step"].back() = {5, 0, 2, -1};
  EXPECT_EQ(errorOf(manifest.dump()),
            format("manifest: devices[0].step[%zu][2]: expected an integer from 0 to 1, found 2", actions + 1));
  device["step"].back() = {5, 0, 1, 0};
  EXPECT_EQ(errorOf(manifest.dump()),
            format("manifest: devices[0].step[%zu][3]: expected an integer from -1 to -1, found 0", actions + 1));
  device["copies"] = {{0, 0}};
  EXPECT_EQ(errorOf(manifest.dump()), "manifest: devices[0].copies[0]: expected [from, to], two buffers");
  device["copies"] = json::array({json::array({0, count - 1})});
  EXPECT_EQ(errorOf(manifest.dump()), "manifest: devices[0].copies[0]: copies to a buffer of another type or shape, or "
                                      "with slots where the other has none");
  parameter["offset"] = 1024;
  EXPECT_EQ(errorOf(manifest.dump()),
            "manifest: devices[0].buffers[0]: bytes 1024 to 4192 do not lie within the memory "
            "of the host of 4096 bytes");
}

TEST(ManifestTest, PlacesSayWhichSlotsMicroBatchesHave) {
  json manifest = json::parse(test::bigramManifest(2, 2, 2)), &device = manifest["devices"][0];
  json &h = device["buffers"][4], &gh = device["buffers"][5];
  device["places"] = {{1, 0}, {0, 1}};
  h["places"] = 0;
  Manifest read = parseManifest(manifest.dump());
  const Buffer &own = read.devices[0].buffers[4];
  EXPECT_EQ(own.start(0), own.offset + own.stride);
  EXPECT_EQ(own.start(1), own.offset);
  EXPECT_EQ(read.devices[0].buffers[5].start(1), read.devices[0].buffers[5].offset + own.stride);

  gh["places"] = 1, gh["shares"] = 4;
  EXPECT_EQ(errorOf(manifest.dump()),
            "manifest: devices[0].buffers[5]: cannot share the slots of buffers[4], which are others");
  gh["offset"] = h["offset"];
  EXPECT_EQ(errorOf(manifest.dump()), "manifest: devices[0].step[6]: micro-batch 0 uses a slot that micro-batch 1 has "
                                      "used since (2 slots)");
  gh.erase("shares"), gh.erase("places");
  EXPECT_NE(errorOf(manifest.dump()).find("overlaps"), std::string::npos);
}

const Mistake placeMistakes[] = {
    {"/buffers/4/places", "2", "manifest: devices[0].buffers[4].places: expected an integer from 0 to 1, found 2"},
    {"/buffers/6/places", "0", "manifest: devices[0].buffers[6].places: a buffer without slots has no places"},
    {"/buffers/4/shares", "10", "manifest: devices[0].buffers[4].shares: expected an integer from 0 to 9, found 10"},
    {"/buffers/4/shares", "4",
     "manifest: devices[0].buffers[4]: cannot share the slots of buffers[4], which are others"},
    {"/places/0", "[0, 2]", "manifest: devices[0].places[0][1]: expected an integer from 0 to 1, found 2"},
    {"/places/0", "[0]", "manifest: devices[0].places[0]: 1 places for 2 micro-batches"},
    {"/places/0", "[0, 0]",
     "manifest: devices[0].step[7]: micro-batch 0 uses a slot that micro-batch 1 has used since (2 slots)"},
};

TEST(ManifestTest, MistakesOfPlacesNameTheirKey) {
  json original = json::parse(test::bigramManifest(2, 2, 2));
  original["devices"][0]["places"] = {{1, 0}, {0, 1}};
  original["devices"][0]["buffers"][4]["places"] = 0;
  EXPECT_EQ(errorOf(original.dump()), "no error");
  for (const Mistake &mistake : placeMistakes) {
    json manifest = original;
    manifest[json::json_pointer("/devices/0" + std::string(mistake.pointer))] = json::parse(mistake.value);
    EXPECT_EQ(errorOf(manifest.dump()), mistake.error) << mistake.pointer << " = " << mistake.value;
  }
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

// Of a collective of device 0 that sums the gradient of E over dp, in an action after the last backward.
const Mistake collectiveMistakes[] = {
    {"/kind", "\"permute\"",
     "manifest: devices[0].collectives[0].kind: unknown value \"permute\"; known: all_reduce, all_gather, "
     "reduce_scatter, all_to_all"},
    {"/reduction", "", "manifest: devices[0].collectives[0]: missing key \"reduction\""},
    {"/kind", "\"all_gather\"", "manifest: devices[0].collectives[0].reduction: all_gather has none"},
    {"/group", "3", "manifest: devices[0].collectives[0].group: expected an integer from 0 to 2, found 3"},
    {"/reads", "[]",
     "manifest: devices[0].collectives[0]: 0 \"reads\" and 1 \"writes\": expected as many of both, at "
     "least one"},
    {"/reads/0", "10", "manifest: devices[0].collectives[0].reads[0]: expected an integer from 0 to 9, found 10"},
    {"/reads/0", "6",
     "manifest: devices[0].collectives[0]: call 0: all_reduce over 2 ranks cannot read 1 elements and "
     "write 792"},
    {"/reads/0", "3", "manifest: devices[0].collectives[0]: call 0: reads i32 and writes f32"},
    {"/reads/0", "4",
     "manifest: devices[0].collectives[0]: call 0: reads and writes a buffer with slots and one "
     "without"},
    {"/kind", "\"reduce_scatter\"",
     "manifest: devices[0].collectives[0]: call 0: reduce_scatter over 2 ranks cannot read 792 elements and write 792"},
    {"/group", "2",
     "manifest: devices[1].step: its collectives over group 2 are not those of device 0, which is in "
     "the group, too"},
};

TEST(ManifestTest, MistakesOfCollectivesNameTheirKey) {
  json original = json::parse(test::bigramManifest(2, 2, 2));
  json &device = original["devices"][0];
  device["collectives"] = {
      {{"kind", "all_reduce"}, {"reduction", "sum"}, {"group", 1}, {"reads", {1}}, {"writes", {1}}}};
  device["step"].insert(device["step"].begin() + 10, json::array({4, 1, 0, -1, 1}));
  EXPECT_EQ(errorOf(original.dump()), "no error");
  for (const Mistake &mistake : collectiveMistakes) {
    json manifest = original;
    json::json_pointer pointer("/devices/0/collectives/0" + std::string(mistake.pointer));
    if (*mistake.value)
      manifest[pointer] = json::parse(mistake.value);
    else
      manifest[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_EQ(errorOf(manifest.dump()), mistake.error) << mistake.pointer << " = " << mistake.value;
  }
  json manifest = original;
  manifest["devices"][0]["step"][10][3] = 0;
  EXPECT_EQ(errorOf(manifest.dump()), "manifest: devices[0].step[10][3]: expected an integer from -1 to -1, found 0");
}

TEST(ManifestTest, BrokenJsonNamesThePlace) {
  EXPECT_EQ(errorOf("{\"format\": 1,"), "manifest:1:14: key \"format\": not valid JSON: the text ends here");
  EXPECT_EQ(errorOf(""), "manifest:1:1: not valid JSON: there is no text");
  EXPECT_EQ(errorOf("[]"), "manifest: top level: expected an object, found []");
  struct Mistake {
    const char *text, *error;
  };
  const char *notFinite = " is no number of JSON, though Python writes it: write a finite number, or remove the key";
  const Mistake numbers[] = {{"{\"a\": {\"b\": 1},\n \"c\": NaN}", ":2:7: key \"c\": NaN"},
                             {"{\"c\": [1, Infinity]}", ":1:11: key \"c\": Infinity"},
                             {"{\"c\": -Infinity}", ":1:7: key \"c\": -Infinity"},
                             {"{\"c\": -inf}", ":1:7: key \"c\": -inf"},
                             {"[nan]", ":1:2: nan"}};
  for (const Mistake &mistake : numbers)
    EXPECT_EQ(errorOf(mistake.text), std::string("manifest") + mistake.error + notFinite);
  const Mistake mistakes[] = {
      {"{\"c\": True}", ":1:7: key \"c\": True is of Python: JSON writes true"},
      {"{\"c\": None}", ":1:7: key \"c\": None is of Python: JSON writes null"},
      {"{'c': 1}", ":1:2: not valid JSON: found 'c', and strings stand between double quotes"},
      {"{\"c\": 1, // one\n}", ":1:10: key \"c\": not valid JSON: found //, and JSON has no comments"},
      {"# made by hand", ":1:1: not valid JSON: found #, and JSON has no comments"},
      {"{\"c\": 1,\n}", ":2:1: key \"c\": not valid JSON: found \"}\""},
      {"{\"c\": 007}", ":1:7: key \"c\": not valid JSON: found \"007\""},
      {"{\"c\": .5}", ":1:7: key \"c\": not valid JSON: found \".5\""},
      {"{\"c\": [1, 2}", ":1:12: key \"c\": not valid JSON: found \"}\""},
      {"{\"c\": \"a", ":1:9: key \"c\": not valid JSON: the text ends here"},
      {"{\"c\": \"\xff\"}", ":1:8: key \"c\": not valid JSON: found \"\\xff\""},
      {"{\"c\": 1} {\"c\": 2}", ":1:10: not valid JSON: found \"{\""},
      {"{\"c\": 1e999}", ": key \"c\": the number '1e999' is larger than any that can be read"},
      {"{\"c\": {\"d\": 1, \"d\": 2}}", ": key \"d\" is given twice"},
  };
  for (const Mistake &mistake : mistakes)
    EXPECT_EQ(errorOf(mistake.text), std::string("manifest") + mistake.error);
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
