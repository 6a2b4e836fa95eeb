// What the runtime does with a device's memory besides computing there goes through copies.
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/executor/FiniteCheck.h"
#include "runtime/executor/PlanExecutor.h"
#include "runtime/launch/Launch.h"
#include "runtime/local/LocalTransport.h"
#include "runtime/weights/TensorFile.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <cmath>
#include <cstring>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

// Memory that the host cannot reach: its addresses are of nothing.
class FarMemory final : public DeviceMemory {
public:
  explicit FarMemory(int64_t bytes) : content(size_t(bytes)) {}
  int64_t size() const override { return int64_t(content.size()); }
  std::byte *address(int64_t place) const override { return reinterpret_cast<std::byte *>(8 + place); }
  void clear(int64_t place, int64_t bytes) override { std::memset(content.data() + place, 0, size_t(bytes)); }
  void copyIn(int64_t place, const void *from, int64_t bytes) override {
    std::memcpy(content.data() + place, from, size_t(bytes));
  }
  void copyOut(int64_t place, void *to, int64_t bytes) const override {
    std::memcpy(to, content.data() + place, size_t(bytes));
  }
  void copy(int64_t to, int64_t from, int64_t bytes) override { copyIn(to, content.data() + from, bytes); }

private:
  std::vector<std::byte> content;
};

TEST(DeviceMemoryTest, NothingButCodeAndTransportsUsesAddresses) {
  const ppcrt_program &program = bigramProgram("1,1,1");
  Manifest manifest = parseManifest({program.manifest, program.manifest_size});
  const Device &device = manifest.devices[0];
  LocalWorld world(worldShape(manifest));
  LocalTransport transport(world, 0);
  RankContext context(transport);
  RandomTokens tokens(sequenceLength, vocabulary, 1);
  FarMemory memory(device.arenaBytes);
  HostFunctions code(device, program);
  PlanExecutor executor(manifest, code, context, memory, tokens);
  executor.initializeParameters(3);
  const Buffer *parameter = nullptr, *gradient = nullptr;
  for (const Buffer &buffer : device.buffers) {
    parameter = buffer.role == Role::Parameter ? &buffer : parameter;
    gradient = buffer.role == Role::Gradient ? &buffer : gradient;
  }
  EXPECT_NE(memory.read<float>(parameter->offset), 0);

  FiniteCheck check(manifest, transport, memory, /*stops=*/false);
  ::testing::internal::CaptureStderr();
  check.afterUpdate(1, 1, 1); // nothing to say
  int64_t last = elementCount(gradient->shape) - 1;
  memory.write(gradient->offset + 4 * last, float(NAN));
  check.afterUpdate(2, NAN, NAN);
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(format("is nan at element %lld of this rank's block", (long long)last)), std::string::npos)
      << said;

  std::string path = temporaryPath("parameters.safetensors");
  TensorFile file(path, 1, manifest, Role::Parameter, logicalTensors(manifest, Role::Parameter));
  file.writeBlocks(manifest, 0, memory);
  file.commit();
  float first = memory.read<float>(parameter->offset);
  EXPECT_NE(readFile(path).find(std::string(reinterpret_cast<const char *>(&first), 4)), std::string::npos);
  CheckpointWriter writer(manifest, 0, memory, temporaryPath("checkpoint"));
  ASSERT_TRUE(writer.waitFor(60));
  EXPECT_EQ(writer.failure(), "");
}

} // namespace
