// Device files: every built-in one reads, kinds are overridden, errors have line and column.
#include "ppc/Cluster/Device.h"
#include "ppc/Support/YamlReader.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

static std::string errorOfDevice(llvm::StringRef text) {
  llvm::Expected<Device> device = parseDevice("d.yaml", text);
  return device ? "" : llvm::toString(device.takeError());
}

TEST(Device, EveryBuiltInDeviceReads) {
  EXPECT_GE(deviceNames().size(), 2u);
  for (llvm::StringRef name : deviceNames()) {
    llvm::Expected<Device> device = findDevice(name);
    ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
    EXPECT_EQ(device->name, name);
    EXPECT_FALSE(device->architecture.empty());
    for (const ProductConstants &constants : device->products) {
      EXPECT_GT(constants.tileRate, 0);
      EXPECT_LE(constants.sustained, 1);
    }
  }
}

TEST(Device, UnknownNamesListTheKnown) {
  llvm::Expected<Device> device = findDevice("H101");
  ASSERT_FALSE(static_cast<bool>(device));
  std::string message = llvm::toString(device.takeError());
  EXPECT_NE(message.find("unknown device \"H101\""), std::string::npos) << message;
  EXPECT_NE(message.find("H100-SXM-80GB"), std::string::npos) << message;
}

TEST(Device, AKindCanBeOverridden) {
  llvm::Expected<Device> device =
      parseDevice("d.yaml", "kind: H100-SXM-80GB\nname: mine\nmemory: 40e9\npeak: { fp8: 0 }\n");
  ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
  EXPECT_EQ(device->name, "mine");
  EXPECT_EQ(device->memory, Bytes(40e9));
  EXPECT_EQ(device->multiprocessors, 132);
  EXPECT_EQ(device->peakOf(Precision::Fp8).value, 0);
  EXPECT_GT(device->peakOf(Precision::Bf16).value, 0);
}

TEST(Device, NumbersInlineAreEnough) {
  llvm::Expected<Device> device = parseDevice("d.yaml", "memory: 8e9\nmemory_bandwidth: 1e11\nmultiprocessors: 10\n"
                                                        "launch_floor: 1e-6\npeak: { bf16: 1e13 }\n");
  ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
  EXPECT_EQ(device->productFloor, Seconds(1e-6));
}

TEST(Device, AllThatIsMissingIsToldAtOnce) {
  std::string error = errorOfDevice("name: mine\nmemory: 8e9\n");
  EXPECT_EQ(error.rfind("d.yaml:1:1: error: key \"memory_bandwidth\": missing; expected a number", 0), 0u) << error;
  EXPECT_NE(error.find("; also missing: multiprocessors (an integer >= 1), launch_floor (a number"), std::string::npos)
      << error;
  EXPECT_NE(error.find("peak"), std::string::npos) << error;
}

TEST(Device, DerivedDevicesDoNotInheritMeasurements) {
  EXPECT_TRUE(llvm::cantFail(findDevice("H100-SXM-80GB")).measured);
  for (const char *name : {"H100-PCIe-80GB", "L40S", "RTX-4090", "A10", "GH200", "x86-64", "MI300X"})
    EXPECT_FALSE(llvm::cantFail(findDevice(name)).measured) << name;
}

TEST(Device, ErrorsAreReported) {
  EXPECT_EQ(errorOfDevice("kind: H100-SXM-80GB\nmemory: lots\n").rfind("d.yaml:2:9: error: key \"memory\"", 0), 0u)
      << errorOfDevice("kind: H100-SXM-80GB\nmemory: lots\n");
  EXPECT_NE(errorOfDevice("kind: X9\n").find("unknown device \"X9\""), std::string::npos);
  EXPECT_NE(errorOfDevice("kind: H100-SXM-80GB\nmemroy: 1\n").find("memroy"), std::string::npos);
  EXPECT_NE(errorOfDevice("memory: 8e9\n"), "");
  EXPECT_NE(errorOfDevice("kind: H100-SXM-80GB\nmultiprocessors: 0\n"), "");
  EXPECT_NE(errorOfDevice("kind: H100-SXM-80GB\nproducts: { bf16: { tile_rate: 2 } }\n"), "");
  EXPECT_NE(errorOfDevice("kind: H100-SXM-80GB\nattention: { flash2: { forward: [1, 1] } }\n"), "");
  EXPECT_NE(errorOfDevice("kind: H100-SXM-80GB\npeak: { f32: 0, tf32: 0, bf16: 0, fp16: 0, fp8: 0 }\n"), "");
}

TEST(Device, NumbersThatNoHardwareHasAreRefused) {
  for (llvm::StringRef line : {"memory: 1",
                               "memory: 1e30",
                               "memory_bandwidth: 1e-300",
                               "memory_bandwidth: .inf",
                               "memory_bandwidth: .nan",
                               "launch_floor: 0",
                               "launch_floor: 60",
                               "product_floor: -1e-6",
                               "tile_fill: -1",
                               "exposed_stores: 2",
                               "peak: { bf16: 1e-9 }",
                               "peak: { bf16: -1 }",
                               "peak: { bf16: 1e300 }",
                               "peak: { int4: 1e12 }",
                               "multiprocessors: 1.5",
                               "multiprocessors: 99999999999999999999",
                               "memory_efficiency: 1.01",
                               "attention: { flash2: { forward: [0.5, 0.5, 1.5] } }",
                               "attention: { flash9: { forward: [0.5, 0.5, 0.5] } }",
                               "attention: { flash3: { forward: [0.5, 0, 0.5], backward: [0.5, 0.5, 0.5] } }",
                               "products: { bf16: 3 }"})
    EXPECT_EQ(errorOfDevice(("kind: A100-SXM-80GB\n" + line + "\n").str()).rfind("d.yaml:2:", 0), 0u)
        << line.str() << ": " << errorOfDevice(("kind: A100-SXM-80GB\n" + line + "\n").str());
}

TEST(Device, BrokenTextIsAnErrorAndNoCrash) {
  llvm::Expected<Device> whole = findDevice("H100-SXM-80GB");
  ASSERT_TRUE(static_cast<bool>(whole));
  std::string text =
      "kind: H100-SXM-80GB\nmemory: 1e9\npeak: { bf16: 1e15 }\nproducts: { bf16: { tile_rate: 0.5, sustained: 0.5 } }\n"
      "attention: { flash2: { forward: [0.1, 0.2, 0.3], backward_block: [1e-6, 1e-6, 1e-6] } }\n";
  uint64_t state = 12345;
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string broken = text;
    for (int edits = 0; edits < 3; ++edits) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      broken[(state >> 33) % broken.size()] = "{}[]:,-#'\"\n\0 x9e"[(state >> 20) % 16];
    }
    errors += !errorOfDevice(broken).empty();
  }
  EXPECT_GT(errors, 1000);
}
