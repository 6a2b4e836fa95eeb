// Random programs as text, and the closure of what orders them.
#include "RandomProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mlir::ppc::test {

RandomProgram::RandomProgram(uint32_t seed) : random(seed) {
  size_t devices = 1 + below(4);
  for (size_t device = 0; device < devices; ++device)
    streamCounts.push_back(1 + below(3));
  lists.resize(devices);
  size_t things = 1 + below(9);
  for (size_t i = 0; i < things; ++i) {
    size_t first = below(devices), kind = below(7);
    size_t second = devices > 1 ? (first + 1 + below(devices - 1)) % devices : first;
    if (kind == 6)
      addRun(first);
    else if (kind < 2 || first == second)
      addCopy(first);
    else if (kind < 4)
      addMessage(first, second);
    else if (kind == 4)
      addExchange(first, second);
    else
      addCollective();
  }
  number();
  addTokens();
  connect();
}

void RandomProgram::insert(size_t device, Action action) {
  action.device = device;
  action.stream = below(streamCounts[device]);
  std::vector<Action> &list = lists[device];
  // Mostly at the end, so that many programs have an order.
  size_t place = below(4) ? list.size() : below(list.size() + 1);
  list.insert(list.begin() + place, std::move(action));
}

void RandomProgram::addCopy(size_t device) {
  size_t from = below(kBuffersPerDevice), to = (from + 1 + below(kBuffersPerDevice - 1)) % kBuffersPerDevice;
  insert(device, {0, 0, {}, {from, to}, "copy @b" + std::to_string(from) + " to @b" + std::to_string(to), {}, {}});
}

void RandomProgram::addRun(size_t device) {
  Action action;
  action.operation = "run";
  for (size_t buffer = 0; buffer < kBuffersPerDevice; ++buffer)
    if (below(3))
      action.buffers.push_back(buffer);
  for (size_t buffer : action.buffers)
    if (below(3)) {
      if (action.early.empty() || below(2))
        action.early.emplace_back();
      action.early.back().push_back(buffer);
    }
  for (size_t entry = 0; entry < action.early.size(); ++entry)
    action.reaches.insert(action.reaches.begin() + below(entry + 1), entry);
  insert(device, action);
}

void RandomProgram::number() {
  for (const std::vector<Action> &list : lists)
    for (Action action : list) {
      size_t run = actions.size();
      for (size_t buffer : action.buffers) {
        action.lasts.push_back(run);
        for (size_t place = 0; place < action.reaches.size(); ++place)
          if (llvm::is_contained(action.early[action.reaches[place]], buffer))
            action.lasts.back() = run + 1 + place;
      }
      actions.push_back(action);
      for (size_t entry : action.reaches) {
        Action reached;
        reached.device = action.device;
        reached.stream = action.stream;
        reached.run = run;
        reached.entry = entry;
        actions.push_back(reached);
      }
    }
}

static std::string messageText(size_t number) { return "@m" + std::to_string(number) + " micro_batch 0"; }

void RandomProgram::addMessage(size_t from, size_t to) {
  size_t number = messages.size();
  messages.push_back({from, to});
  insert(from, {0, 0, {}, {}, "send " + messageText(number), {{number, true}}, {}});
  insert(to, {0, 0, {}, {}, "receive " + messageText(number), {{number, false}}, {}});
}

void RandomProgram::addExchange(size_t first, size_t second) {
  size_t there = messages.size(), back = there + 1;
  messages.push_back({first, second});
  messages.push_back({second, first});
  auto exchange = [](size_t sent, size_t received) {
    return "exchange send " + messageText(sent) + " receive " + messageText(received);
  };
  insert(first, {0, 0, {}, {}, exchange(there, back), {{there, true}, {back, false}}, {}});
  if (below(2)) {
    insert(second, {0, 0, {}, {}, exchange(back, there), {{back, true}, {there, false}}, {}});
    return;
  }
  insert(second, {0, 0, {}, {}, "send " + messageText(back), {{back, true}}, {}});
  insert(second, {0, 0, {}, {}, "receive " + messageText(there), {{there, false}}, {}});
}

void RandomProgram::addCollective() {
  size_t group = below(groups.size() + 1);
  if (group == groups.size()) {
    std::vector<size_t> members;
    for (size_t device = 0; device < lists.size(); ++device)
      if (below(3))
        members.push_back(device);
    if (members.empty() || llvm::is_contained(groups, members))
      return;
    groups.push_back(members);
  }
  std::string operation = "collective all_reduce sum group @g" + std::to_string(group) + " reads [@b0] writes [@b0]";
  for (size_t device : groups[group])
    insert(device, {0, 0, {}, {0}, operation, {}, {group}});
}

void RandomProgram::addTokens() {
  for (size_t i = 0; i < actions.size(); ++i)
    for (size_t j = 0; j < i && actions[i].run == SIZE_MAX; ++j)
      if (actions[j].device == actions[i].device && !below(5))
        actions[i].after.push_back(j);
}

void RandomProgram::connect() {
  reach.assign(2 * actions.size(), std::vector<bool>(2 * actions.size(), false));
  auto begin = [](size_t i) { return 2 * i; };
  auto end = [](size_t i) { return 2 * i + 1; };
  std::map<std::pair<size_t, size_t>, std::vector<size_t>> collectives; // by group and device
  for (size_t i = 0; i < actions.size(); ++i) {
    reach[begin(i)][end(i)] = true;
    if (actions[i].run != SIZE_MAX) {
      reach[actions[i].run == i - 1 ? begin(i - 1) : end(i - 1)][begin(i)] = true;
      reach[end(i)][end(actions[i].run)] = true;
      continue;
    }
    for (size_t token : actions[i].after)
      reach[end(token)][begin(i)] = true;
    for (size_t group : actions[i].groups)
      collectives[{group, actions[i].device}].push_back(i);
    for (size_t j = 0; j < actions.size(); ++j) {
      if (j < i && actions[j].run == SIZE_MAX && actions[j].device == actions[i].device &&
          actions[j].stream == actions[i].stream)
        reach[end(j)][begin(i)] = true;
      for (auto [message, isSent] : actions[i].messages)
        if (llvm::is_contained(actions[j].messages, std::pair(message, !isSent)))
          reach[begin(j)][end(i)] = true;
    }
  }
  for (auto &[key, own] : collectives)
    for (size_t member : groups[key.first])
      for (size_t i = 0; i < own.size(); ++i)
        reach[begin(own[i])][end(collectives.at({key.first, member})[i])] = true;
  for (size_t middle = 0; middle < reach.size(); ++middle)
    for (size_t from = 0; from < reach.size(); ++from)
      for (size_t to = 0; reach[from][middle] && to < reach.size(); ++to)
        if (reach[middle][to])
          reach[from][to] = true;
}

bool RandomProgram::waitsForEver() const {
  for (size_t event = 0; event < reach.size(); ++event)
    if (reach[event][event])
      return true;
  return false;
}

/// Code that returns its arguments, and finishes with some of them on the way.
static void writeCode(size_t number, const RandomProgram::Action &action, llvm::raw_ostream &os) {
  os << "func.func @code" << number << "(";
  llvm::interleaveComma(action.buffers, os, [&](size_t buffer) { os << "%b" << buffer << ": tensor<4xf32>"; });
  os << ")";
  auto types = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      os << (i ? ", " : "") << "tensor<4xf32>";
  };
  auto values = [&](const std::vector<size_t> &buffers) {
    llvm::interleaveComma(buffers, os, [&](size_t buffer) { os << "%b" << buffer; });
    os << (buffers.empty() ? "" : " : ");
    types(buffers.size());
  };
  os << " -> (";
  types(action.buffers.size());
  os << ") attributes {ppcrt.routine = \"forward\"} {\n";
  for (size_t entry : action.reaches) {
    os << "ppcrt.reach " << entry << " (";
    values(action.early[entry]);
    os << ")\n";
  }
  os << "return ";
  values(action.buffers);
  os << "\n}\n";
}

std::string RandomProgram::text() const {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "module {\n";
  for (auto [number, members] : llvm::enumerate(groups)) {
    os << "ppcrt.group @g" << number << " axes [\"pp\"] stages [";
    llvm::interleaveComma(members, os);
    os << "]\n";
  }
  os << "ppcrt.program @p grid <pp = " << lists.size() << "> micro_batches 1 {\n";
  for (size_t device = 0; device < lists.size(); ++device) {
    os << "ppcrt.device @d" << device << " at " << device << " {\n";
    for (size_t stream = 0; stream < streamCounts[device]; ++stream)
      os << "ppcrt.stream @s" << stream << "\n";
    for (size_t buffer = 0; buffer < kBuffersPerDevice; ++buffer)
      os << "ppcrt.buffer @b" << buffer << " gradient \"w" << buffer << "\" : memref<4xf32>\n";
    for (auto [number, message] : llvm::enumerate(messages)) {
      if (message.from == device)
        os << "ppcrt.buffer @out" << number << " saved : memref<4xf32> slots 1\nppcrt.routine @make" << number
           << " forward code @make reads [] writes [@out" << number << "]\n";
      if (message.to == device)
        os << "ppcrt.buffer @in" << number << " message : memref<4xf32> slots 1\nppcrt.routine @use" << number
           << " forward code @use reads [@in" << number << "] writes []\n";
    }
    auto list = [&](ArrayRef<size_t> buffers) {
      os << "[";
      llvm::interleaveComma(buffers, os, [&](size_t buffer) { os << "@b" << buffer; });
      os << "]";
    };
    for (auto [number, action] : llvm::enumerate(actions)) {
      if (action.device != device || action.operation != "run")
        continue;
      os << "ppcrt.routine @run" << number << " forward code @code" << number << " reads ";
      list(action.buffers);
      os << " writes ";
      list(action.buffers);
      os << " early [";
      llvm::interleaveComma(action.early, os, list);
      os << "]\n";
    }
    os << "ppcrt.step {\n";
    for (auto [number, action] : llvm::enumerate(actions)) {
      if (action.device != device || action.run != SIZE_MAX)
        continue;
      os << "%t" << number << ":" << action.reaches.size() + 1 << " = ppcrt." << action.operation;
      if (action.operation == "run")
        os << " @run" << number << " micro_batch 0";
      if (!action.after.empty()) {
        os << " after (";
        llvm::interleaveComma(action.after, os, [&](size_t token) {
          bool isReached = actions[token].run != SIZE_MAX;
          os << "%t" << (isReached ? actions[token].run : token) << "#"
             << (isReached ? actions[token].entry : actions[token].reaches.size());
        });
        os << ")";
      }
      os << " on @s" << action.stream << "\n";
    }
    os << "}\n}\n";
  }
  for (auto [number, message] : llvm::enumerate(messages))
    os << "ppcrt.message @m" << number << " from @d" << message.from << "::@out" << number << " after @make" << number
       << " to @d" << message.to << "::@in" << number << " before @use" << number << "\n";
  os << "}\n";
  for (auto [number, action] : llvm::enumerate(actions))
    if (action.operation == "run")
      writeCode(number, action, os);
  os << "func.func private @make() -> tensor<4xf32>\nfunc.func private @use(tensor<4xf32>)\n}\n";
  return result;
}

} // namespace mlir::ppc::test
