#include "test/CudaStandIn/Ptx/Names.h"

#include <cstdlib>

namespace ptx {

std::optional<Special> specialNamed(std::string_view name) {
  static const std::unordered_map<std::string_view, Special> table = {
      {"%tid.x", Special::ThreadX},
      {"%tid.y", Special::ThreadY},
      {"%tid.z", Special::ThreadZ},
      {"%ntid.x", Special::BlockDimX},
      {"%ntid.y", Special::BlockDimY},
      {"%ntid.z", Special::BlockDimZ},
      {"%ctaid.x", Special::BlockX},
      {"%ctaid.y", Special::BlockY},
      {"%ctaid.z", Special::BlockZ},
      {"%nctaid.x", Special::GridDimX},
      {"%nctaid.y", Special::GridDimY},
      {"%nctaid.z", Special::GridDimZ},
      {"%laneid", Special::Lane},
      {"%warpid", Special::WarpIndex},
      {"%nwarpid", Special::WarpCount},
      {"%lanemask_eq", Special::LaneMaskEq},
      {"%lanemask_lt", Special::LaneMaskLt},
      {"%lanemask_le", Special::LaneMaskLe},
      {"%lanemask_gt", Special::LaneMaskGt},
      {"%lanemask_ge", Special::LaneMaskGe},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
      {"%smid", Special::Multiprocessor},
      {"%nsmid", Special::MultiprocessorCount},
      {"%clock", Special::Clock},
      {"%clock64", Special::Clock},
      {"%globaltimer", Special::Clock},
      {"WARP_SZ", Special::WarpSize},
  };
  auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

void Names::open() {
  current.push_back(int(scopes.size()));
  scopes.emplace_back();
}

void Names::declareRegisters(const std::string &prefix, int64_t count) {
  scopes[current.back()].ranges[prefix] = {count, registers};
  registers += int(count);
}

std::optional<int> Names::findRegister(const std::string &name) {
  size_t digits = name.find_last_not_of("0123456789") + 1;
  std::string prefix = name.substr(0, digits);
  int64_t number = digits < name.size() ? std::strtoll(name.c_str() + digits, nullptr, 10) : -1;
  for (auto scope = current.rbegin(); scope != current.rend(); ++scope) {
    const Scope &names = scopes[*scope];
    if (auto found = names.registers.find(name); found != names.registers.end())
      return found->second;
    if (auto range = names.ranges.find(prefix);
        range != names.ranges.end() && number >= 0 && number < range->second.count)
      return range->second.first + int(number);
  }
  return std::nullopt;
}

const Variable *Names::findVariable(const std::string &name) const {
  for (auto scope = current.rbegin(); scope != current.rend(); ++scope)
    if (auto found = scopes[*scope].variables.find(name); found != scopes[*scope].variables.end())
      return &found->second;
  return nullptr;
}

std::optional<size_t> Names::findLabel(const std::string &name, const std::vector<int> &from) const {
  for (auto scope = from.rbegin(); scope != from.rend(); ++scope)
    if (auto found = scopes[*scope].labels.find(name); found != scopes[*scope].labels.end())
      return found->second;
  return std::nullopt;
}

} // namespace ptx
