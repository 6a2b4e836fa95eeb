// Reads modules: variables and functions (Parser.cpp), and the bodies of functions (BodyParser.cpp).
#pragma once

#include "test/CudaStandIn/Ptx/Cursor.h"
#include "test/CudaStandIn/Ptx/Names.h"

namespace ptx {

class Parser {
public:
  explicit Parser(std::string_view text) : cursor(text), module(std::make_unique<Module>()) {}
  std::unique_ptr<Module> run();

private:
  // Module level.
  void directive();
  void function(bool isKernel);
  void parameters(Function &function);
  void threads(std::array<uint32_t, 3> &counts);
  void performance(Function &function);
  // After the space: `.align 4 .b8 name[16] = {...}`, without what ends it.
  Variable variable(Space space);
  void initialize(Variable &variable, Type element);
  void moduleVariable(Space space, bool isExternal);
  void placeShared(Variable &variable);

  // Function bodies.
  void body(Function &function);
  void statement(Function &function);
  bool bodyDirective(Function &function, const std::string &name);
  void registers();
  void instruction(Function &function);
  Operand operand();
  Operand address();
  Operand list(char end);
  Operand symbol(const std::string &name);
  void immediate(Operand &operand);
  void resolveLabels(Function &function);
  void finishShared(Function &function);

  Cursor cursor;
  std::unique_ptr<Module> module;
  Names names; // names of the current function; the module's shared variables outermost
  std::map<std::string, Variable> moduleNames;
  int64_t sharedBytes = 0, sharedAlignment = 16; // shared memory of the module so far
};

} // namespace ptx
