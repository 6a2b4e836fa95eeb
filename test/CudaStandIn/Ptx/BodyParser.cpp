// The bodies of functions: registers, local variables, labels, instructions.
#include "test/CudaStandIn/Ptx/Decode.h"
#include "test/CudaStandIn/Ptx/Parser.h"

#include <algorithm>

namespace ptx {
namespace {

std::vector<std::string> splitDots(const std::string &opcode) {
  std::vector<std::string> parts;
  for (size_t first = opcode.find('.'); first != std::string::npos;) {
    size_t next = opcode.find('.', first + 1);
    parts.push_back(opcode.substr(first + 1, next == std::string::npos ? next : next - first - 1));
    first = next;
  }
  return parts;
}

template <class F> void forEachOperand(std::vector<Operand> &operands, const F &f) {
  for (Operand &operand : operands) {
    f(operand);
    forEachOperand(operand.elements, f);
  }
}

} // namespace

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

void Parser::body(Function &function) {
  for (int depth = 1; depth > 0;) {
    if (cursor.atEnd())
      cursor.fail("function body of '" + function.name + "' does not end");
    if (cursor.accept('{')) {
      names.open();
      ++depth;
    } else if (cursor.accept('}')) {
      if (--depth > 0)
        names.close();
    } else {
      statement(function);
    }
  }
}

void Parser::statement(Function &function) {
  if (cursor.accept(';'))
    return;
  if (cursor.peek() == '@')
    return instruction(function);
  if (cursor.peek() == '.') {
    std::string name = cursor.word(true);
    if (!bodyDirective(function, name))
      cursor.fail("'" + name + "' is not known in a function body");
    return;
  }
  // A label ends in ':', an opcode in white space or ';'.
  Cursor ahead = cursor;
  std::string name = ahead.word(false);
  if (ahead.peek() == ':') {
    ahead.expect(':');
    if (ahead.peek() != ':') {
      cursor = ahead;
      if (!names.declareLabel(name, function.code.size()))
        cursor.fail("label '" + name + "' is defined twice");
      return;
    }
  }
  instruction(function);
}

bool Parser::bodyDirective(Function &function, const std::string &name) {
  if (name == ".reg") {
    registers();
  } else if (name == ".loc" || name == ".file") {
    cursor.skipLine();
  } else if (name == ".pragma") {
    cursor.skipPast(';');
  } else if (name == ".local" || name == ".shared") {
    bool isLocal = name == ".local";
    do {
      Variable declared = variable(isLocal ? Space::Local : Space::Shared);
      if (isLocal) {
        function.localBytes = (function.localBytes + declared.alignment - 1) / declared.alignment * declared.alignment;
        declared.address = uint64_t(function.localBytes);
        function.localBytes += declared.bytes;
      } else {
        placeShared(declared);
      }
      names.declareVariable(declared);
    } while (cursor.accept(','));
    cursor.expect(';');
  } else {
    return false;
  }
  return true;
}

void Parser::registers() {
  std::string type = cursor.word(true);
  if (type.size() < 2 || !typeNamed(std::string_view(type).substr(1)))
    cursor.fail("'" + type + "' is not a type of a register");
  do {
    std::string name = cursor.word(false);
    if (cursor.accept('<')) {
      int64_t count = cursor.integer();
      if (count < 0 || count > 1000000)
        cursor.fail(std::to_string(count) + " registers of one kind");
      names.declareRegisters(name, count);
      cursor.expect('>');
    } else {
      names.declareRegister(name);
    }
  } while (cursor.accept(','));
  cursor.expect(';');
}

void Parser::instruction(Function &function) {
  Instruction result;
  result.line = cursor.line();
  if (cursor.accept('@')) {
    result.guardNegated = cursor.accept('!');
    std::string name = cursor.word(false);
    auto reg = names.findRegister(name);
    if (!reg)
      cursor.fail("register '" + name + "' is not declared");
    result.guard = *reg;
  }
  result.line = (cursor.peek(), cursor.line());
  result.opcode = cursor.opcode();
  result.modifiers = splitDots(result.opcode);
  result.scope = names.scope();
  while (!cursor.accept(';')) {
    Operand next = operand();
    if (cursor.accept('|')) { // two destinations
      Operand both;
      both.kind = Operand::Vector;
      both.elements = {std::move(next), operand()};
      next = std::move(both);
    }
    result.operands.push_back(std::move(next));
    if (cursor.peek() != ';')
      cursor.expect(',');
  }
  result.architecture = module->architecture();
  decode(result);
  function.code.push_back(std::move(result));
}

Operand Parser::operand() {
  char next = cursor.peek();
  if (next == '[')
    return address();
  if (cursor.accept('{'))
    return list('}');
  if (cursor.accept('('))
    return list(')');
  Operand result;
  if (cursor.accept('!')) {
    result = operand();
    result.negated = !result.negated;
    return result;
  }
  if (cursor.atNumber()) {
    immediate(result);
    return result;
  }
  std::string name = cursor.word(false);
  if (name == "_")
    return result;
  if (auto reg = names.findRegister(name)) {
    result.kind = Operand::Register;
    result.reg = *reg;
    return result;
  }
  if (name[0] == '%') {
    if (cursor.peek() == '.')
      name += cursor.word(true);
    if (auto special = specialNamed(name)) {
      result.kind = Operand::SpecialRegister;
      result.special = *special;
      return result;
    }
    cursor.fail("register '" + name + "' is not declared");
  }
  if (auto special = specialNamed(name)) {
    result.kind = Operand::SpecialRegister;
    result.special = *special;
    return result;
  }
  return symbol(name);
}

void Parser::immediate(Operand &operand) {
  Cursor::Number number = cursor.number();
  operand.kind = Operand::Immediate;
  operand.value = number.bits;
  operand.wide = number.kind == Cursor::Number::Double;
}

// A variable, or a label that may come later.
Operand Parser::symbol(const std::string &name) {
  Operand result;
  result.symbol = name;
  const Variable *variable = names.findVariable(name);
  if (!variable)
    if (auto found = moduleNames.find(name); found != moduleNames.end())
      variable = &found->second;
  if (!variable) {
    result.kind = Operand::Label;
    return result;
  }
  result.kind = Operand::Immediate;
  result.value = variable->address;
  bool later = variable->space == Space::Global || variable->space == Space::Const ||
               (variable->space == Space::Shared && variable->isExternal);
  if (!later)
    result.symbol.clear();
  return result;
}

Operand Parser::address() {
  cursor.expect('[');
  Operand result = operand();
  if (result.kind == Operand::Label)
    cursor.fail("'" + result.symbol + "' is not declared");
  if (result.kind != Operand::Register && result.kind != Operand::Immediate)
    cursor.fail("this form of address is not executed here");
  result.kind = Operand::Address;
  while (cursor.accept('+'))
    result.value += uint64_t(cursor.integer());
  if (cursor.peek() == '-')
    result.value += uint64_t(cursor.integer());
  if (cursor.accept(',')) { // tensor map: the coordinates
    cursor.expect('{');
    result.elements = list('}').elements;
  }
  cursor.expect(']');
  return result;
}

Operand Parser::list(char end) {
  Operand result;
  result.kind = Operand::Vector;
  while (!cursor.accept(end)) {
    result.elements.push_back(operand());
    if (cursor.peek() != end)
      cursor.expect(',');
  }
  return result;
}

void Parser::resolveLabels(Function &function) {
  for (Instruction &instruction : function.code) {
    forEachOperand(instruction.operands, [&](Operand &operand) {
      if (operand.kind != Operand::Label)
        return;
      auto place = names.findLabel(operand.symbol, instruction.scope);
      if (!place)
        throw ParseError(instruction.line, "'" + operand.symbol + "' is not declared");
      operand.value = *place;
      operand.symbol.clear();
    });
    instruction.scope = {};
  }
}

// Shared memory whose size the launch gives comes after all that is static.
void Parser::finishShared(Function &function) {
  function.sharedAlignment = sharedAlignment;
  function.sharedBytes = (sharedBytes + sharedAlignment - 1) / sharedAlignment * sharedAlignment;
  for (Instruction &instruction : function.code)
    forEachOperand(instruction.operands, [&](Operand &operand) {
      auto found = moduleNames.find(operand.symbol);
      if (found == moduleNames.end() || found->second.space != Space::Shared)
        return;
      operand.value += uint64_t(function.sharedBytes);
      operand.symbol.clear();
    });
}

} // namespace ptx
