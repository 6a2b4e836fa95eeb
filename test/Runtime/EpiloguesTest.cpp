// GEMMs with epilogues on the fake cuBLASLt, against their definition.
#include "runtime/cuda/Products.h"
#include "test/Runtime/OnStandIn.h"

#include <algorithm>
#include <cmath>

using namespace ppcrt;
using namespace ppcrt::cuda;
using namespace ppcrt::test;

namespace {

// Rows of results without gaps; A and B with rows or columns side by side, B one of several parts of a matrix.
class DrawnEpilogue {
public:
  explicit DrawnEpilogue(std::mt19937_64 &random) : random(random) {
    const int64_t types[][2] = {{PPCRT_F32, PPCRT_F32}, {PPCRT_BF16, PPCRT_F32}, {PPCRT_BF16, PPCRT_BF16}};
    const int64_t *type = types[draw(0, 2)];
    m = draw(2, 9), n = 8 * draw(1, 3), k = draw(1, 6);
    int64_t parts = draw(1, 3);
    column = n * draw(0, parts - 1);
    aRow = draw(0, 1) ? k : 1, aColumn = aRow == 1 ? m : 1;
    bRow = draw(0, 1) ? n * parts : 1, bColumn = bRow == 1 ? k : 1;
    in = DataType(type[0]), out = DataType(type[1]);
    product.descriptor = {2, type[0], 0, type[1], m, n, k, aRow, aColumn, bRow, bColumn, n, 1, 0};
    product.b.bytes = column * bColumn * info(in).bytes;
    Epilogue epilogue;
    epilogue.activation = Activation(draw(0, 2));
    epilogue.hasAddend = draw(0, 1), epilogue.hasBias = draw(0, 1);
    epilogue.hasSum = epilogue.activation == Activation::Gelu && draw(0, 1);
    epilogue.hasAt = epilogue.activation == Activation::GeluGradient;
    epilogue.hasBias &= !epilogue.hasAt;
    epilogue.bias.bytes = column * info(out).bytes;
    product.epilogue = epilogue;
    buffers = {drawn(m * k, type[0], random), drawn(n * parts * k, type[0], random), drawn(m * n, type[1], random),
               drawn(m * n, type[1], random), drawn(n * parts, type[1], random),     drawn(m * n, type[1], random)};
  }

  // Throws InputError where the device computes something else.
  void compare(CudaDevice &device) {
    const Epilogue &epilogue = *product.epilogue;
    Products products(device);
    MatrixProduct asked = product;
    if (isWrong)
      asked.epilogue = wrong;
    const Epilogue &given = *asked.epilogue;
    int number = products.prepare(asked, 64);
    products.reserve();
    std::vector<Address> at;
    for (const std::vector<std::byte> &buffer : buffers) {
      at.push_back(device.allocate(int64_t(buffer.size()), "an operand"));
      device.copyIn(at.back(), buffer.data(), int64_t(buffer.size()));
    }
    products.run(number, at[A], at[B] + Address(product.b.bytes), at[Out],
                 {given.hasAddend ? at[Addend] : 0, given.hasBias ? at[Bias] + Address(given.bias.bytes) : 0,
                  given.hasSum || given.hasAt ? at[Aux] : 0});
    std::vector<std::byte> result(buffers[Out].size()), sums(buffers[Aux].size());
    device.copyOut(at[Out], result.data(), int64_t(result.size()));
    device.copyOut(at[Aux], sums.data(), int64_t(sums.size()));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = sumAt(i, j), stored = sum, x = valueOf(buffers[Aux], out, i * n + j);
        if (epilogue.activation == Activation::Gelu)
          stored = gelu(sum);
        else if (epilogue.hasAt)
          stored *= (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
        check("result", stored, valueOf(result, out, i * n + j));
        check("auxiliary matrix", epilogue.hasSum ? sum : x, valueOf(sums, out, i * n + j));
      }
    for (Address address : at)
      device.free(address);
  }

  // Lets the device do another thing than compare() expects: another activation, no bias, no addend. False: it cannot.
  bool mistake(int kind) {
    wrong = *product.epilogue;
    isWrong = true;
    if (kind == 0 && !wrong.hasAt)
      wrong.activation = wrong.activation == Activation::Gelu ? Activation::None : Activation::Gelu,
      wrong.hasSum = false;
    else if (kind == 1 && wrong.hasBias && !wrong.hasAt)
      wrong.hasBias = false;
    else if (kind == 2 && wrong.hasAddend && !wrong.hasAt)
      wrong.hasAddend = false;
    else
      return false;
    return true;
  }

  MatrixProduct product{};

private:
  enum { A, B, Out, Addend, Bias, Aux };

  int64_t draw(int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); }

  static double gelu(double x) {
    return x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x))) / 2;
  }

  static double valueOf(const std::vector<std::byte> &from, DataType type, int64_t place) {
    uint32_t bits = 0;
    if (type == DataType::BF16) {
      uint16_t half;
      std::memcpy(&half, from.data() + 2 * place, 2);
      bits = uint32_t(half) << 16;
    } else {
      std::memcpy(&bits, from.data() + 4 * place, 4);
    }
    float value;
    std::memcpy(&value, &bits, 4);
    return double(value);
  }

  double sumAt(int64_t i, int64_t j) const {
    const Epilogue &epilogue = *product.epilogue;
    double sum = epilogue.hasAddend ? valueOf(buffers[Addend], out, i * n + j) : 0;
    sum += epilogue.hasBias ? valueOf(buffers[Bias], out, column + j) : 0;
    for (int64_t l = 0; l < k; ++l)
      sum +=
          valueOf(buffers[A], in, i * aRow + l * aColumn) * valueOf(buffers[B], in, l * bRow + (column + j) * bColumn);
    return sum;
  }

  void check(const char *what, double expected, double found) const {
    double tolerance = (out == DataType::BF16 ? 1.0 / 256 : 1e-6) * std::max(std::abs(expected), 1e-2);
    if (std::abs(expected - found) > tolerance)
      throw InputError(format("%s of %lld x %lld x %lld, activation %d: %g, expected %g", what, (long long)m,
                              (long long)n, (long long)k, int(product.epilogue->activation), found, expected));
  }

  std::mt19937_64 &random;
  Epilogue wrong;
  bool isWrong = false;
  int64_t m, n, k, column, aRow, aColumn, bRow, bColumn;
  DataType in, out;
  std::vector<std::vector<std::byte>> buffers;
};

TEST(ProductsTest, EpiloguesMatchTheDefinition) {
  uint64_t seed = testSeed();
  EXPECT_EQ(onStandIn([&] {
              std::mt19937_64 random(seed);
              Driver driver;
              CudaDevice device(driver, 0);
              for (int turn = 0; turn < 300; ++turn)
                DrawnEpilogue(random).compare(device);
            }),
            "");
}

// An epilogue that does something else is not taken for the one that was asked for.
TEST(ProductsTest, WrongEpiloguesAreNoticed) {
  uint64_t seed = testSeed();
  EXPECT_EQ(onStandIn([&] {
              std::mt19937_64 random(seed);
              Driver driver;
              CudaDevice device(driver, 0);
              int noticed[3] = {}, made[3] = {};
              for (int turn = 0; turn < 600; ++turn) {
                DrawnEpilogue drawn(random);
                int mistake = turn % 3;
                if (drawn.mistake(mistake)) {
                  ++made[mistake];
                  try {
                    drawn.compare(device);
                  } catch (const InputError &error) {
                    noticed[mistake] += std::string(error.what()).find(", expected ") != std::string::npos;
                  }
                }
              }
              for (int i = 0; i < 3; ++i)
                if (made[i] < 40 || noticed[i] < made[i])
                  throw InputError(format("of fault %d %d are made and %d detected", i, made[i], noticed[i]));
            }),
            "");
}

// cuBLASLt's requirements of an epilogue are checked before the first step.
TEST(ProductsTest, EpiloguesThatTheLibraryLacksAreRefused) {
  auto errorOf = [](std::vector<int64_t> descriptor, const Epilogue &epilogue) {
    return onStandIn([&] {
      Driver driver;
      CudaDevice device(driver, 0);
      Products(device).prepare({descriptor, {}, {}, {}, epilogue}, 64);
    });
  };
  Epilogue bias, beside;
  bias.hasBias = true;
  beside.activation = Activation::Gelu, beside.hasSum = true;
  const std::vector<int64_t> even = {2, 4, 0, 4, 4, 16, 8, 8, 1, 16, 1, 16, 1, 0};
  EXPECT_EQ(errorOf(even, bias), "");
  EXPECT_EQ(errorOf(even, beside), "");
  EXPECT_EQ(errorOf({2, 4, 0, 4, 4, 12, 8, 8, 1, 12, 1, 12, 1, 0}, bias), "");
  EXPECT_NE(errorOf({2, 4, 0, 4, 4, 12, 8, 8, 1, 12, 1, 12, 1, 0}, beside), ""); // columns of 12 elements
  EXPECT_EQ(errorOf({2, 4, 0, 4, 1, 16, 8, 8, 1, 16, 1, 16, 1, 0}, bias),
            "its results do not lie as an epilogue of cuBLASLt needs them");
  bias.bias.bytes = 8;
  EXPECT_EQ(errorOf(even, bias), "cuBLASLt has no algorithm for it");
  beside.sum.bytes = 24;
  EXPECT_EQ(errorOf(even, beside), "cuBLASLt has no algorithm for it");
}

} // namespace
