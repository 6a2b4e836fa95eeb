// oneDNN matmul primitives with batch dimensions, cached by shape, strides and the number of threads.
#include "runtime/host/BatchedProduct.h"
#include "runtime/base/Error.h"
#include "runtime/host/Threads.h"

#include <cstring>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

namespace ppcrt {
namespace {

using dnnl::memory;

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<std::byte> scratchpad;
};

Library &library() { // of each thread, made at its first call: after the fork
  static thread_local Library instance;
  return instance;
}

// Starting threads and waiting for them takes as long as half a million multiply-adds of one core, and much longer
// where other programs use the cores.
bool isWorthThreads(const GemmProblem &p) {
  double multiplications = double(p.m) * double(p.n) * double(p.k);
  for (int i = 0; i < p.loopCount; ++i)
    multiplications *= double(p.loops[i].size);
  return multiplications > 1e6;
}

struct Product {
  bool usable = false;
  dnnl::matmul primitive;
  memory a, b, c, scratchpad;
  size_t scratchpadBytes = 0;
};

// oneDNN wants one of the two matrix strides to be 1; a dimension of size 1 may have any.
bool suits(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  return ((col == 1 || cols == 1) && (row >= cols || rows == 1)) ||
         ((row == 1 || rows == 1) && (col >= rows || cols == 1));
}

// Gives dimensions of size 1 the strides of a matrix without gaps: oneDNN reads leading dimensions off them.
void settle(int64_t rows, int64_t cols, int64_t &row, int64_t &col) {
  if (rows == 1 && cols == 1)
    row = col = 1;
  else if (cols == 1)
    col = row == 1 ? rows : 1;
  else if (rows == 1)
    row = col == 1 ? cols : 1;
}

memory::data_type typeOf(DataType type) {
  return type == DataType::BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// The reference implementations are slower than converting to f32. For f32, only those by brgemm are faster than a loop
// over products.
bool isFast(const char *implementation, DataType type) {
  if (type == DataType::F32)
    return std::strncmp(implementation, "brg", 3) == 0;
  return std::strncmp(implementation, "ref", 3) != 0;
}

Product create(GemmProblem p, bool accumulate) {
  Product product;
  settle(p.m, p.k, p.aRow, p.aCol);
  settle(p.k, p.n, p.bRow, p.bCol);
  if (!suits(p.m, p.k, p.aRow, p.aCol) || !suits(p.k, p.n, p.bRow, p.bCol) || p.cCol != 1 || (p.cRow < p.n && p.m > 1))
    return product;
  memory::dims aDims, bDims, cDims, aStrides, bStrides, cStrides;
  auto add = [](memory::dims &dims, memory::dims &strides, int64_t size, int64_t stride) {
    dims.push_back(size);
    strides.push_back(stride);
  };
  for (int i = 0; i < p.loopCount; ++i) {
    const GemmProblem::Loop &loop = p.loops[i];
    add(aDims, aStrides, loop.a ? loop.size : 1, loop.a ? loop.a : 1); // an operand of size 1 is repeated
    add(bDims, bStrides, loop.b ? loop.size : 1, loop.b ? loop.b : 1);
    add(cDims, cStrides, loop.size, loop.c);
  }
  add(aDims, aStrides, p.m, p.aRow), add(aDims, aStrides, p.k, p.aCol);
  add(bDims, bStrides, p.k, p.bRow), add(bDims, bStrides, p.n, p.bCol);
  add(cDims, cStrides, p.m, p.cRow), add(cDims, cStrides, p.n, p.cCol);
  try {
    auto type = typeOf(p.type);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    dnnl::matmul::primitive_desc chosen(
        dnnl::matmul::desc({aDims, type, aStrides}, {bDims, type, bStrides}, {cDims, typeOf(p.result), cStrides}),
        attributes, library().engine);
    if (!isFast(chosen.impl_info_str(), p.type))
      return product;
    product.primitive = dnnl::matmul(chosen);
    product.a = memory(chosen.src_desc(), library().engine, nullptr);
    product.b = memory(chosen.weights_desc(), library().engine, nullptr);
    product.c = memory(chosen.dst_desc(), library().engine, nullptr);
    product.scratchpad = memory(chosen.scratchpad_desc(), library().engine, nullptr);
    product.scratchpadBytes = chosen.scratchpad_desc().get_size();
    product.usable = true;
  } catch (const dnnl::error &) { // not supported: the caller has another way
  }
  return product;
}

std::vector<int64_t> keyOf(const GemmProblem &p, bool accumulate) {
  std::vector<int64_t> key = {
      libraryThreads(), int64_t(p.type), int64_t(p.result), accumulate, p.m, p.n, p.k, p.aRow, p.aCol, p.bRow, p.bCol,
      p.cRow,           p.cCol};
  for (int i = 0; i < p.loopCount; ++i)
    key.insert(key.end(), {p.loops[i].size, p.loops[i].a, p.loops[i].b, p.loops[i].c});
  return key;
}

} // namespace

bool runBatched(const GemmProblem &problem, bool accumulate, const void *a, const void *b, void *c) {
  static thread_local std::map<std::vector<int64_t>, Product> products;
  std::optional<OneThread> alone;
  if (!isWorthThreads(problem))
    alone.emplace();
  std::vector<int64_t> key = keyOf(problem, accumulate);
  auto found = products.find(key);
  if (found == products.end())
    found = products.emplace(std::move(key), create(problem, accumulate)).first;
  Product &product = found->second;
  if (!product.usable)
    return false;
  constexpr size_t alignment = 64;
  std::vector<std::byte> &scratchpad = library().scratchpad;
  if (scratchpad.size() < product.scratchpadBytes + alignment)
    scratchpad.resize(product.scratchpadBytes + alignment);
  auto address = (reinterpret_cast<uintptr_t>(scratchpad.data()) + alignment - 1) / alignment * alignment;
  product.a.set_data_handle(const_cast<void *>(a));
  product.b.set_data_handle(const_cast<void *>(b));
  product.c.set_data_handle(c);
  product.scratchpad.set_data_handle(reinterpret_cast<void *>(address));
  try {
    product.primitive.execute(library().stream, {{DNNL_ARG_SRC, product.a},
                                                 {DNNL_ARG_WEIGHTS, product.b},
                                                 {DNNL_ARG_DST, product.c},
                                                 {DNNL_ARG_SCRATCHPAD, product.scratchpad}});
  } catch (const dnnl::error &) { // strides that only turn out to be refused when they are used
    product.usable = false;
  }
  return product.usable;
}

std::string productLibrary() {
  const dnnl_version_t *version = dnnl_version();
  return format("%d.%d.%d (%.12s)", version->major, version->minor, version->patch, version->hash);
}

} // namespace ppcrt
