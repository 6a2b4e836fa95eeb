// Scoped names of a function: registers, variables, labels.
#pragma once

#include "test/CudaStandIn/Ptx/Module.h"

#include <optional>
#include <unordered_map>

namespace ptx {

// A special register by its name, "%tid.x".
std::optional<Special> specialNamed(std::string_view name);

// Scopes nest: braces inside a function body open one, which inline assembly does for its registers and labels.
class Names {
public:
  Names() { open(); }
  void open();
  void close() { current.pop_back(); }
  const std::vector<int> &scope() const { return current; }

  // `.reg .b32 %r<5>` declares %r0 to %r4 by the prefix.
  void declareRegisters(const std::string &prefix, int64_t count);
  void declareRegister(const std::string &name) { scopes[current.back()].registers[name] = registers++; }
  std::optional<int> findRegister(const std::string &name);
  int registerCount() const { return registers; }

  void declareVariable(const Variable &variable) { scopes[current.back()].variables[variable.name] = variable; }
  const Variable *findVariable(const std::string &name) const;

  // False if the scope has it already.
  bool declareLabel(const std::string &name, size_t place) {
    return scopes[current.back()].labels.emplace(name, place).second;
  }
  std::optional<size_t> findLabel(const std::string &name, const std::vector<int> &from) const;

private:
  struct Range {
    int64_t count;
    int first;
  };
  struct Scope {
    std::unordered_map<std::string, Range> ranges; // by prefix
    std::unordered_map<std::string, int> registers;
    std::unordered_map<std::string, Variable> variables;
    std::unordered_map<std::string, size_t> labels;
  };
  std::vector<Scope> scopes; // all that ever were
  std::vector<int> current;  // from the outermost to the innermost
  int registers = 0;
};

} // namespace ptx
