// The module level: directives, variables, the heads of functions.
#include "test/CudaStandIn/Ptx/Parser.h"

#include <algorithm>
#include <cstdlib>

namespace ptx {
namespace {

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::optional<Space> spaceNamed(const std::string &directive) {
  if (directive == ".global")
    return Space::Global;
  if (directive == ".const")
    return Space::Const;
  if (directive == ".shared")
    return Space::Shared;
  return std::nullopt;
}

} // namespace

std::unique_ptr<Module> parse(std::string_view text) { return Parser(text).run(); }

std::unique_ptr<Module> Parser::run() {
  while (!cursor.atEnd())
    directive();
  return std::move(module);
}

void Parser::directive() {
  std::string name = cursor.word(true);
  bool isExternal = false;
  while (name == ".visible" || name == ".extern" || name == ".weak" || name == ".common") {
    isExternal |= name == ".extern";
    name = cursor.word(true);
  }
  if (name == ".version") {
    module->version = cursor.word(true);
  } else if (name == ".target") {
    module->target = cursor.word(false);
    while (cursor.accept(','))
      cursor.word(false);
  } else if (name == ".address_size") {
    if (int64_t bits = cursor.integer(); bits != 64)
      cursor.fail("addresses of " + std::to_string(bits) + " bits are not executed here");
  } else if (name == ".file" || name == ".loc") {
    cursor.skipLine();
  } else if (name == ".section") {
    cursor.word(true);
    cursor.skipBraces();
  } else if (name == ".pragma" || name == ".alias") {
    cursor.skipPast(';');
  } else if (auto space = spaceNamed(name)) {
    moduleVariable(*space, isExternal);
  } else if (name == ".entry") {
    function(true);
  } else if (name == ".func") {
    function(false);
  } else {
    cursor.fail("'" + name + "' is not known here");
  }
}

Variable Parser::variable(Space space) {
  Variable result;
  result.space = space;
  std::string word = cursor.word(true);
  int64_t vector = 1;
  Type element = Type::B8;
  bool aligned = false;
  for (;; word = cursor.word(true)) {
    if (word == ".align") {
      result.alignment = cursor.integer();
      aligned = true;
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      vector = word[2] - '0';
    } else if (word == ".ptr") { // attribute of a pointer parameter; not used here
      if (cursor.peek() == '.')
        for (word = cursor.word(true); word != ".align"; word = cursor.word(true))
          ;
      cursor.integer();
    } else if (word[0] != '.') {
      break;
    } else if (auto type = typeNamed(std::string_view(word).substr(1))) {
      element = *type;
    } else if (word != ".attribute") {
      cursor.fail("'" + word + "' is not a type of a variable");
    }
  }
  result.name = word;
  result.bytes = std::max(bytesOf(element), 1) * vector;
  if (!aligned)
    result.alignment = result.bytes;
  while (cursor.accept('[')) {
    int64_t size = cursor.peek() == ']' ? 0 : cursor.integer();
    result.bytes *= size;
    cursor.expect(']');
  }
  if (cursor.accept('='))
    initialize(result, element);
  return result;
}

void Parser::initialize(Variable &variable, Type element) {
  auto value = [&] {
    if (!cursor.atNumber())
      cursor.fail("only numbers can initialize '" + variable.name + "' here");
    uint64_t bits = cursor.number().bits;
    for (int i = 0; i < bytesOf(element); ++i)
      variable.initial.push_back(uint8_t(bits >> (8 * i)));
  };
  int depth = 0;
  do {
    while (cursor.accept('{'))
      ++depth;
    value();
    while (depth > 0 && cursor.accept('}'))
      --depth;
  } while (depth > 0 && cursor.accept(','));
  if (depth > 0)
    cursor.fail("the initializer of '" + variable.name + "' does not end");
  if (int64_t(variable.initial.size()) > variable.bytes)
    cursor.fail("'" + variable.name + "' has more initial values than elements");
}

void Parser::placeShared(Variable &variable) {
  if (variable.bytes == 0 || variable.isExternal) {
    variable.isExternal = true;
    sharedAlignment = std::max(sharedAlignment, variable.alignment);
    return; // its offset is known at the end
  }
  sharedBytes = roundUp(sharedBytes, variable.alignment);
  variable.address = uint64_t(sharedBytes);
  sharedBytes += variable.bytes;
}

void Parser::moduleVariable(Space space, bool isExternal) {
  do {
    Variable declared = variable(space);
    declared.isExternal = isExternal;
    if (space == Space::Shared)
      placeShared(declared);
    else if (isExternal)
      cursor.fail("variable '" + declared.name + "' of another module: modules are not linked here");
    moduleNames[declared.name] = declared;
    module->variables.push_back(std::move(declared));
  } while (cursor.accept(','));
  cursor.expect(';');
}

void Parser::function(bool isKernel) {
  if (!isKernel) {
    // A declaration is of no use as nothing is called; a definition would be.
    if (cursor.peek() == '(')
      cursor.skipPast(')');
    std::string name = cursor.word(false);
    if (cursor.peek() == '(')
      cursor.skipPast(')');
    while (cursor.peek() == '.')
      cursor.word(true);
    if (cursor.accept(';'))
      return;
    cursor.fail("function '" + name + "': only kernels are executed here, all else has to be inlined");
  }
  auto result = std::make_unique<Function>();
  result->name = cursor.word(false);
  names = Names();
  if (cursor.peek() == '(')
    parameters(*result);
  while (cursor.peek() == '.')
    performance(*result);
  names.open();
  cursor.expect('{');
  int64_t outside = sharedBytes; // a kernel has what the module declares before it, and its own
  body(*result);
  result->registerCount = names.registerCount();
  resolveLabels(*result);
  finishShared(*result);
  sharedBytes = outside;
  std::string name = result->name;
  if (!module->kernels.emplace(name, std::move(result)).second)
    cursor.fail("kernel '" + name + "' is defined twice");
}

void Parser::parameters(Function &function) {
  cursor.expect('(');
  while (!cursor.accept(')')) {
    if (std::string space = cursor.word(true); space != ".param")
      cursor.fail("expected a parameter, found '" + space + "'");
    Variable parameter = variable(Space::Param);
    function.parameterBytes = roundUp(function.parameterBytes, parameter.alignment);
    parameter.address = uint64_t(function.parameterBytes);
    function.parameterBytes += parameter.bytes;
    names.declareVariable(parameter);
    function.parameters.push_back(std::move(parameter));
    if (cursor.peek() != ')')
      cursor.expect(',');
  }
}

void Parser::threads(std::array<uint32_t, 3> &counts) {
  counts = {1, 1, 1};
  for (int i = 0; i < 3 && (i == 0 || cursor.accept(',')); ++i)
    counts[i] = uint32_t(cursor.integer());
}

void Parser::performance(Function &function) {
  std::string name = cursor.word(true);
  if (name == ".maxntid")
    threads(function.mostThreads);
  else if (name == ".reqntid")
    threads(function.requiredThreads);
  else if (name == ".minnctapersm" || name == ".maxnreg" || name == ".maxnctapersm" || name == ".maxclusterrank")
    cursor.integer();
  else if (name == ".pragma")
    cursor.skipPast(';');
  else
    cursor.fail("'" + name + "' of kernel '" + function.name + "' is not executed here");
}

int Module::architecture() const {
  size_t digits = target.find('_') + 1;
  return std::atoi(target.c_str() + digits);
}

void Module::resolveVariables() {
  std::map<std::string, uint64_t> addresses;
  for (const Variable &variable : variables)
    if (variable.space == Space::Global || variable.space == Space::Const)
      addresses[variable.name] = variable.address;
  auto resolve = [&](auto &self, Operand &operand) -> void {
    if (auto found = addresses.find(operand.symbol); found != addresses.end()) {
      operand.value += found->second;
      operand.symbol.clear();
    }
    for (Operand &element : operand.elements)
      self(self, element);
  };
  for (auto &[name, kernel] : kernels)
    for (Instruction &instruction : kernel->code)
      for (Operand &operand : instruction.operands)
        resolve(resolve, operand);
}

} // namespace ptx
