// Programs for GPUs on the stand-ins of test/CudaStandIn: what the runtime asks of a driver, and what becomes of
// mistakes. Each test uses the driver in a process of its own.
#include "runtime/base/Error.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/files/JsonValue.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/Launcher.h"
#include "test/Runtime/OnStandIn.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::cuda;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

// ---- Code that is read ----

json smallCode() {
  return json::parse(R"({
    "kernels": [{"name": "add", "blocks": 1, "threads": 32, "parameters": 2, "shared": 0, "chips": [
      {"chip": "sm_90a", "blocks": 2, "threads": 384, "shared": 163840, "maps": [
        {"operand": 1, "sizes": [64, 8], "strides": [128], "box": [64, 8]}]}]}],
    "constants": [{"name": "table", "bytes": 16}],
    "bodies": [
      {"name": "inner", "arguments": 2, "operations": [["launch", 0, [0, 0], ["coordinate", 0]], ["reach", 0]]},
      {"name": "outer", "arguments": 1, "operations": [
        ["call", 0, [0, 64], ["constant", 0, 8]],
        ["product", [2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], [0, 0], [0, 4], [0, 8],
         {"activation": "none", "bias": [0, 12]}],
        ["start", 3, ["all_reduce", 0, "sum", "f32", 4, [0, 0]]],
        ["wait", 3],
        ["all_gather", 0, "f32", 4, [0, 0], [0, 64]],
        ["reduce_scatter", 0, "max", "f32", 4, [0, 0], [0, 64]],
        ["permute", 0, "f32", 4, -1, [0, 0], [0, 64]]]}]})");
}

struct Mistake {
  const char *pointer, *value, *error;
};

TEST(DeviceCodeTest, MistakesNameTheKey) {
  const Mistake mistakes[] = {
      {"/kernels/0/threads", "2000", "code: kernels[0].threads: expected an integer from 1 to 1024, found 2000"},
      {"/kernels/0/chips/0/threads", "0",
       "code: kernels[0].chips[0].threads: expected an integer from 1 to 1024, found 0"},
      {"/kernels/0/chips/0/maps/0/operand", "2",
       "code: kernels[0].chips[0].maps[0].operand: expected an integer from 0 to 1, found 2"},
      {"/kernels/0/chips/0/maps/0/strides/0", "130",
       "code: kernels[0].chips[0].maps[0].strides: strides are multiples of 16 bytes"},
      {"/kernels/0/chips/0/maps/0/box/1", "", "code: kernels[0].chips[0].maps[0].box: expected 2 numbers"},
      {"/kernels/0/chips/0/maps/0/sizes", "[]",
       "code: kernels[0].chips[0].maps[0].sizes: a tensor map has 1 to 5 dimensions"},
      {"/bodies/1/operations/1/5", R"({"activation": "silu"})",
       "code: bodies[1].operations[1][5].activation: unknown value \"silu\"; known: none, gelu, gelu_gradient"},
      {"/bodies/1/operations/1/5", R"({"activation": "none", "sum": [0, 0]})",
       "code: bodies[1].operations[1][5].sum: only gelu keeps its sums"},
      {"/bodies/1/operations/1/5", R"({"activation": "gelu_gradient"})",
       "code: bodies[1].operations[1][5]: \"at\" goes with gelu_gradient"},
      {"/bodies/1/operations/1/5", R"({"activation": "gelu_gradient", "at": [0, 0], "bias": [0, 0]})",
       "code: bodies[1].operations[1][5].bias: gelu_gradient has no bias"},
      {"/bodies/1/operations/1/1/2", "1",
       "code: bodies[1].operations[1][1][2]: a product with an epilogue neither accumulates nor has loops"},
      {"/bodies/1/operations/1/1/11", "2",
       "code: bodies[1].operations[1][1][11]: results of a product with an epilogue are in rows without gaps"},
      {"/bodies/1/operations/1/1/4", "0",
       "code: bodies[1].operations[1][1][4]: a product with an epilogue has rows, columns and sums"},
      {"/constants/0/bytes", "", "code: constants[0]: missing key \"bytes\""},
      {"/bodies/1/name", "\"inner\"", "code: bodies[1].name: body \"inner\" is defined twice"},
      {"/bodies/0/operations/0/1", "1", "code: bodies[0].operations[0][1]: expected an integer from 0 to 0, found 1"},
      {"/bodies/0/operations/0/2/0", "2",
       "code: bodies[0].operations[0][2][0]: expected an integer from 0 to 1, found 2"},
      {"/bodies/0/operations/0/3/1", "7",
       "code: bodies[0].operations[0][3][1]: expected an integer from 0 to 0, found 7"},
      {"/bodies/0/operations/0/3", "", "code: bodies[0].operations[0]: 1 operands for \"add\", which takes 2"},
      {"/bodies/0/operations/1/1", "64",
       "code: bodies[0].operations[1][1]: expected an integer from 0 to 63, found 64"},
      {"/bodies/1/operations/0/1", "1", "code: bodies[1].operations[0][1]: expected an integer from 0 to 0, found 1"},
      {"/bodies/1/operations/0/3", "", "code: bodies[1].operations[0]: 1 places for \"inner\", which takes 2"},
      {"/bodies/1/operations/0/3/2", "17",
       "code: bodies[1].operations[0][3][2]: expected an integer from 0 to 16, found 17"},
      {"/bodies/1/operations/1/1/0", "1", "code: bodies[1].operations[1][1][0]: expected a descriptor of version 2"},
      {"/bodies/1/operations/1/1/3", "4",
       "code: bodies[1].operations[1][1][3]: no products of type 0 have results of type 4"},
      {"/bodies/1/operations/1/1/13", "1",
       "code: bodies[1].operations[1][1][13]: 1 loops in a descriptor of 14 numbers"},
      {"/bodies/1/operations/2/2/2", "\"mean\"",
       "code: bodies[1].operations[2][2][2]: unknown value \"mean\"; known: sum, max"},
      {"/bodies/1/operations/2/2/5", "[\"constant\", 0, 0]",
       "code: bodies[1].operations[2][2]: constants cannot be communicated"},
      {"/bodies/1/operations/3/1", "2", "code: bodies[1].operations[3][1]: token 2 is not under way"},
      {"/bodies/1/operations/3", "", "code: bodies[1].operations: token 3 is never waited for"},
      {"/bodies/1/operations/4/5", "", "code: bodies[1].operations[4]: \"all_gather\" has 4 values, expected 5"},
      {"/bodies/1/operations/4/0", "\"gather_all\"",
       "code: bodies[1].operations[4][0]: unknown value \"gather_all\"; known: all_reduce, all_gather, reduce_scatter, "
       "all_to_all, permute"},
  };
  auto errorOf = [](const json &code) -> std::string {
    try {
      readDeviceCode(JsonValue(code, "code"), 1);
      return "no error";
    } catch (const InputError &error) {
      return error.what();
    }
  };
  EXPECT_EQ(errorOf(smallCode()), "no error");
  for (const Mistake &mistake : mistakes) {
    json code = smallCode();
    json::json_pointer pointer(mistake.pointer);
    if (*mistake.value)
      code[pointer] = json::parse(mistake.value);
    else if (json &parent = code[pointer.parent_pointer()]; parent.is_array())
      parent.erase(size_t(std::stoul(pointer.back())));
    else
      parent.erase(pointer.back());
    EXPECT_EQ(errorOf(code), mistake.error) << mistake.pointer;
  }
}

TEST(KernelsTest, ChoosesTheImageThatFitsBest) {
  const ppcrt_image images[] = {{"sm_80", PPCRT_PTX, nullptr, 0},    {"sm_90a", PPCRT_PTX, nullptr, 0},
                                {"sm_90a", PPCRT_CUBIN, nullptr, 0}, {"sm_100a", PPCRT_PTX, nullptr, 0},
                                {"sm_89", PPCRT_PTX, nullptr, 0},    {"sm_80", PPCRT_CUBIN, nullptr, 0}};
  ppcrt_program program{};
  program.images = images, program.image_count = std::size(images);
  auto chosen = [&](int architecture) {
    std::string text;
    for (const ppcrt_image *image : imagesFor(program, architecture))
      text += std::string(image->chip) + (image->kind == PPCRT_CUBIN ? " cubin, " : ", ");
    return text;
  };
  EXPECT_EQ(chosen(75), "");
  EXPECT_EQ(chosen(80), "sm_80 cubin, sm_80, ");
  EXPECT_EQ(chosen(86), "sm_80 cubin, sm_80, ");
  EXPECT_EQ(chosen(89), "sm_80 cubin, sm_89, sm_80, ");
  EXPECT_EQ(chosen(90), "sm_90a cubin, sm_90a, sm_89, sm_80, ");
  EXPECT_EQ(chosen(100), "sm_100a, sm_89, sm_80, ");
  EXPECT_EQ(chosen(120), "sm_89, sm_80, ");
}

// ---- Products ----

// A product with loops over dense tensors, whose dimensions lie in any order.
struct DrawnProduct {
  std::vector<int64_t> descriptor;
  int64_t sizes[3]; // elements of A, B, C

  explicit DrawnProduct(std::mt19937_64 &random) {
    auto draw = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
    const int64_t types[][2] = {
        {PPCRT_F32, PPCRT_F32}, {PPCRT_F64, PPCRT_F64}, {PPCRT_BF16, PPCRT_F32}, {PPCRT_BF16, PPCRT_BF16}};
    const int64_t *type = types[draw(0, 3)];
    int64_t loops = draw(0, 3);
    std::vector<int64_t> extents = {draw(1, 7), draw(1, 7), draw(1, 7)}; // m, n, k, loops
    std::vector<std::vector<int64_t>> strides(3);                        // [operand][dimension], 0 where it has none
    std::vector<std::vector<size_t>> dims = {{0, 2}, {2, 1}, {0, 1}};
    for (int64_t loop = 0; loop < loops; ++loop) {
      extents.push_back(draw(1, 3));
      for (std::vector<size_t> &of : dims)
        if (draw(0, 3))
          of.push_back(size_t(3 + loop));
    }
    for (int operand = 0; operand < 3; ++operand) {
      strides[operand].assign(extents.size(), 0);
      std::shuffle(dims[operand].begin(), dims[operand].end(), random);
      int64_t stride = 1;
      for (size_t dim : dims[operand]) {
        strides[operand][dim] = stride;
        stride *= extents[dim];
      }
      sizes[operand] = stride;
    }
    descriptor = {2,
                  type[0],
                  draw(0, 1),
                  type[1],
                  extents[0],
                  extents[1],
                  extents[2],
                  strides[0][0],
                  strides[0][2],
                  strides[1][2],
                  strides[1][1],
                  strides[2][0],
                  strides[2][1],
                  loops};
    for (size_t dim = 3; dim < extents.size(); ++dim)
      for (int64_t value : {extents[dim], strides[0][dim], strides[1][dim], strides[2][dim]})
        descriptor.push_back(value);
  }
};

void compareProduct(CudaDevice &device, std::mt19937_64 &random, int &compared) {
  DrawnProduct product(random);
  const std::vector<int64_t> &at = product.descriptor;
  std::vector<std::byte> operands[3];
  Address addresses[3];
  for (int i = 0; i < 3; ++i)
    operands[i] = drawn(product.sizes[i], i == 2 ? at[3] : at[1], random);
  Products products(device);
  int number;
  try {
    number = products.prepare({at, {}, {}, {}}, 64);
  } catch (const InputError &error) {
    if (std::string(error.what()).find("rounded more than once") == std::string::npos)
      throw;
    return;
  }
  products.reserve();
  for (int i = 0; i < 3; ++i) {
    addresses[i] = device.allocate(int64_t(operands[i].size()), "an operand");
    device.copyIn(addresses[i], operands[i].data(), int64_t(operands[i].size()));
  }
  products.run(number, addresses[0], addresses[1], addresses[2]);
  std::vector<std::byte> result(operands[2].size());
  device.copyOut(addresses[2], result.data(), int64_t(result.size()));
  ppcrt_gemm(at.data(), operands[0].data(), operands[1].data(), operands[2].data());
  if (result != operands[2]) {
    std::string text;
    for (int64_t number : at)
      text += std::to_string(number) + " ";
    throw InputError("another result of the product " + text);
  }
  for (Address address : addresses)
    device.free(address);
  ++compared;
}

TEST(ProductsTest, EqualThoseOfTheHost) {
  uint64_t seed = testSeed();
  EXPECT_EQ(onStandIn([&] {
              std::mt19937_64 random(seed);
              Driver driver;
              CudaDevice device(driver, 0);
              int compared = 0;
              for (int turn = 0; turn < 400; ++turn)
                compareProduct(device, random, compared);
              if (compared < 300)
                throw InputError(format("only %d products were compared", compared));
            }),
            "");
}

TEST(ProductPlanTest, SaysWhatCannotBeSaid) {
  auto errorOf = [](std::vector<int64_t> descriptor) -> std::string {
    try {
      planProduct(descriptor);
      return "no error";
    } catch (const InputError &error) {
      return error.what();
    }
  };
  EXPECT_EQ(errorOf({2, 0, 0, 0, 4, 4, 0, 0, 1, 4, 1, 4, 1, 0}), "it is a sum of nothing");
  EXPECT_EQ(errorOf({2, 0, 1, 0, 4, 4, 0, 0, 1, 4, 1, 4, 1, 0}), "no error");
  EXPECT_EQ(errorOf({2, 0, 0, 0, 4, 4, 4, 4, 1, 0, 0, 4, 1, 0}), "no error"); // B is one number
  EXPECT_EQ(errorOf({2, 4, 0, 4, 4, 4, 4, 4, 1, 0, 0, 4, 1, 0}),
            "sums over loops with results of bf16 would be rounded more than once");
  EXPECT_EQ(errorOf({2, 0, 0, 0, 2, 2, 2, 2, 1, 2, 1, 2, 1, 2, 7000, 64, 64, 4, 5000, 1, 9, 640000}),
            "it would be more than 4096 calls");
}

// ---- A program of two kernels ----

// add: a[i] += b[i] + coordinate for the 32 threads; wild: writes far behind a.
constexpr const char *ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c) {
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  cvt.rn.f32.s64 %f3, %rd3;
  add.rn.f32 %f1, %f1, %f2;
  add.rn.f32 %f1, %f1, %f3;
  st.global.f32 [%rd5], %f1;
  ret;
}
.visible .entry wild(.param .u64 a) {
  .reg .b64 %rd<3>; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [a];
  mov.f32 %f1, 0f00000000;
  st.global.f32 [%rd1+1073741824], %f1;
  ret;
}
)";

// One routine, whose body is `operations`, on one buffer of 32 numbers and another one.
json smallManifest(const json &operations) {
  json buffer = {{"role", "saved"}, {"type", "f32"}, {"shape", {32}}, {"offset", 0}, {"slots", 1}, {"stride", 128}};
  json other = buffer;
  other["offset"] = 128;
  json device = {{"arena_bytes", 256},
                 {"buffers", {buffer, other}},
                 {"routines", {{{"kind", "forward"}, {"entry", "outer"}, {"buffers", {0, 1}}}}},
                 {"streams", {"compute"}},
                 {"messages", json::array()},
                 {"step", {{1, 0, 0, 0}}}};
  json kernels = json::array();
  for (const char *name : {"add", "wild"})
    kernels.push_back({{"name", name},
                       {"blocks", 1},
                       {"threads", 32},
                       {"parameters", std::string(name) == "add" ? 3 : 1},
                       {"shared", 0}});
  json inner = json::parse(R"([["launch", 0, [0, 0], [1, 0], ["coordinate", 0]]])");
  json bodies = {{{"name", "inner"}, {"arguments", 2}, {"operations", inner}},
                 {{"name", "outer"}, {"arguments", 2}, {"operations", operations}}};
  return {{"format", 3},
          {"abi", PPCRT_ABI_VERSION},
          {"model", "small"},
          {"axes", {{{"name", "pp"}, {"size", 1}}, {{"name", "dp"}, {"size", 2}}}},
          {"groups", {{{"axes", {"dp"}}}}},
          {"sequence_length", 1},
          {"global_batch", 2},
          {"micro_batches", 1},
          {"vocabulary", 2},
          {"parameters", json::array()},
          {"target", "cuda"},
          {"code", {{"kernels", kernels}, {"constants", {{{"name", "ones"}, {"bytes", 128}}}}, {"bodies", bodies}}},
          {"devices", {device}}};
}

// What rank `number` of two finds wrong after it has run a body of these operations once, by `look` at what it then has
// in the buffer.
using Look = std::function<std::string(const std::vector<float> &values, int rank)>;
void runRank(LocalWorld &world, int number, const char *operations, bool shares, bool graphs, const Look &look) {
  std::string text = smallManifest(json::parse(operations)).dump();
  std::vector<float> ones(32, 1);
  ppcrt_image image{"sm_80", PPCRT_PTX, ptx, std::strlen(ptx)};
  ppcrt_constant constant{"ones", ones.data(), 128};
  ppcrt_program program{PPCRT_ABI_VERSION, text.data(), text.size(), nullptr, 0, &image, 1, &constant, 1};
  Manifest manifest = parseManifest(text, readCudaCode);
  checkEntries(manifest, program);
  LocalTransport transport(world, number);
  CudaRank gpu(program, manifest, transport, world.arena(number), number, {shares, graphs});
  RankContext context(gpu.transport());
  std::vector<void *> buffers = {gpu.memory().address(0), gpu.memory().address(128)};
  gpu.memory().clear(0, 256); // as scratch it holds anything
  gpu.code().run(context, 0, buffers.data());
  std::vector<float> values(32);
  gpu.memory().copyOut(0, values.data(), 128);
  if (std::string problem = look(values, number); !problem.empty())
    throw InputError(problem);
}

// What is wrong in the first of two ranks, or that something is in the second, each in a process of its own.
std::string runSmall(const char *operations, bool shares, bool graphs, const Look &look,
                     const char *ofSecond = nullptr) {
  std::string text = smallManifest(json::parse(operations)).dump();
  LocalWorld world(worldShape(parseManifest(text, readCudaCode)));
  return onStandIn([&] {
    pid_t child = fork();
    if (child == 0) {
      std::string problem =
          problemInProcess([&] { runRank(world, 1, ofSecond ? ofSecond : operations, shares, graphs, look); });
      _exit(problem.empty() ? 0 : 1);
    }
    int status = 0;
    try {
      runRank(world, 0, operations, shares, graphs, look);
    } catch (...) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      throw;
    }
    waitpid(child, &status, 0);
    if (status)
      throw InputError("the second rank has failed");
  });
}

std::string expectAll(const std::vector<float> &values, float value) {
  for (float one : values)
    if (one != value)
      return format("%g in place of %g", one, value);
  return "";
}

// Whether ranks share a GPU, or have one each and NCCL; and whether routines are graphs.
class BodiesTest : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
  bool shares = std::get<0>(GetParam()), graphs = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Links, BodiesTest, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const ::testing::TestParamInfo<std::tuple<bool, bool>> &info) {
                           return std::string(std::get<0>(info.param) ? "Host" : "Nccl") +
                                  (std::get<1>(info.param) ? "Graphs" : "Plain");
                         });

TEST_P(BodiesTest, LaunchCallAndCommunicate) {
  // Both add 1 and their coordinate, and what they have is added up: 1 + 2.
  EXPECT_EQ(runSmall(R"([["call", 0, [0, 0], ["constant", 0, 0]], ["all_reduce", 0, "sum", "f32", 32, [0, 0]]])",
                     shares, graphs, [](const std::vector<float> &values, int) { return expectAll(values, 3); }),
            "");
  // Begun, with a kernel on other buffers meanwhile, and each then has what the other one had.
  EXPECT_EQ(runSmall(R"([["call", 0, [1, 0], ["constant", 0, 0]],
                         ["start", 0, ["permute", 0, "f32", 32, 1, [1, 0], [0, 0]]], ["wait", 0],
                         ["launch", 0, [0, 0], ["constant", 0, 0], ["coordinate", 0]]])",
                     shares, graphs, [](const std::vector<float> &values, int) { return expectAll(values, 3); }),
            "");
  // Halves of both are summed in each, and gathered again; the largest of each number; halves change places.
  EXPECT_EQ(runSmall(R"([["call", 0, [0, 0], ["constant", 0, 0]],
                         ["reduce_scatter", 0, "sum", "f32", 16, [0, 0], [1, 0]],
                         ["all_gather", 0, "f32", 16, [1, 0], [0, 0]],
                         ["launch", 0, [0, 0], ["constant", 0, 0], ["coordinate", 0]],
                         ["all_reduce", 0, "max", "f32", 32, [0, 0]],
                         ["all_to_all", 0, "f32", 16, [0, 0], [1, 0]],
                         ["launch", 0, [0, 0], [1, 0], ["coordinate", 0]]])",
                     shares, graphs,
                     [](const std::vector<float> &values, int rank) { return expectAll(values, 10.0f + float(rank)); }),
            "");
}

TEST_P(BodiesTest, AFaultOfAKernelNamesTheBody) {
  std::string problem = runSmall(R"([["launch", 1, [0, 0]], ["all_reduce", 0, "sum", "f32", 32, [0, 0]]])", shares,
                                 graphs, [](const std::vector<float> &, int) { return std::string(); });
  EXPECT_NE(problem.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << problem;
  EXPECT_NE(problem.find("GPU 0: "), std::string::npos) << problem;
  EXPECT_NE(problem.find("while \"outer\" is run"), std::string::npos) << problem;
}

TEST(NcclTest, MembersThatCallDifferentThingsAreTold) {
  ::testing::internal::CaptureStderr();
  std::string problem = runSmall(
      R"([["all_reduce", 0, "sum", "f32", 32, [0, 0]]])", /*shares=*/false, /*graphs=*/true,
      [](const std::vector<float> &, int) { return std::string(); },
      R"([["all_gather", 0, "f32", 8, [0, 0], [1, 0]]])");
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(problem.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << problem;
  EXPECT_NE(said.find("member 0 calls all-reduce of 32 elements of type 7, reduction 0 while member 1 calls all-gather "
                      "of 8"),
            std::string::npos)
      << said;
}

} // namespace
