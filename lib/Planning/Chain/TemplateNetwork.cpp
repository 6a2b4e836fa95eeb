// From a template to a network of costs.
#include "ppc/Planning/Chain/TemplateNetwork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace mlir::ppc {

TemplateNetwork::TemplateNetwork(const TemplatePricing &pricing, const OpTemplate &layer, ReshardTimes &times)
    : pricing(pricing), layer(layer), times(times), makers(layer.values.size()), uses(layer.values.size()),
      formsOf(layer.values.size()) {
  addOps();
  addSources();
  addConversions();
}

std::vector<int> TemplateNetwork::kept() const {
  std::vector<int> variables = inputVariables;
  for (auto [number, variable] : sharedVariables)
    variables.push_back(variable);
  variables.insert(variables.end(), outputVariables.begin(), outputVariables.end());
  return variables;
}

double TemplateNetwork::localBytes(const TemplateValue &value, const Layout &layout) const {
  double bytes = double(value.elementBytes);
  for (int64_t extent : localShape(value.shape, layout, pricing.grid))
    bytes *= double(extent);
  return bytes;
}

void TemplateNetwork::addOps() {
  std::set<int> savedByUsers;
  for (const TemplateOp &op : layer.ops)
    for (auto [value, saved] : llvm::zip_equal(op.operands, op.savedOperands))
      if (saved)
        savedByUsers.insert(value);
  for (const TemplateOp &op : layer.ops) {
    std::vector<OpStrategy> strategies = enumerateStrategies(op, pricing.grid);
    if (pricing.allowStrategy)
      llvm::erase_if(strategies,
                     [&](const OpStrategy &strategy) { return !pricing.allowStrategy(layer, op, strategy); });
    bool impossible = strategies.empty();
    if (impossible)
      strategies.push_back({std::vector<int>(pricing.grid.size(), OpStrategy::uncut)});
    int variable = costs.addVariable(op.name, int(strategies.size()));
    std::vector<TableCost> own;
    std::vector<double> &seconds = kernelTimes.emplace_back();
    for (const OpStrategy &strategy : strategies) {
      OpSeconds kernel = kernelSeconds(pricing, layer, op, strategy);
      seconds.push_back(kernel.forward.value + kernel.backward.value);
      TableCost cost{impossible ? TableCost::impossible().time : seconds.back(), 0};
      for (auto [number, value] : llvm::enumerate(op.results))
        if (op.savedResults[number] && !savedByUsers.count(value))
          cost.memory +=
              double(pricing.inFlight) * localBytes(layer.values[value], resultLayout(op, strategy, int(number)));
      own.push_back(cost);
    }
    costs.addCosts(variable, own);
    for (auto [number, value] : llvm::enumerate(op.results)) {
      makers[value].variable = variable;
      for (const OpStrategy &strategy : strategies)
        makers[value].layouts.push_back(resultLayout(op, strategy, int(number)));
    }
    opVariables.push_back(variable);
    opStrategies.push_back(std::move(strategies));
  }
}

void TemplateNetwork::addSources() {
  const Device &device = pricing.cluster.device();
  int64_t gridSize = 1;
  for (const LayoutAxis &axis : pricing.grid)
    gridSize *= axis.size;
  GroupPlacement dataGroup = placeGroup(joinedLevels(pricing.cluster), pricing.stride * gridSize, pricing.dataRanks);
  for (auto [number, value] : llvm::enumerate(layer.values)) {
    if (value.kind == TemplateValueKind::Computed)
      continue;
    std::vector<Layout> layouts = enumerateLayouts(value.shape, pricing.grid);
    int variable = costs.addVariable(value.name, int(layouts.size()));
    std::vector<TableCost> own;
    for (const Layout &layout : layouts) {
      TableCost cost;
      if (pricing.allowLayout && !pricing.allowLayout(layer, value, layout))
        cost = TableCost::impossible();
      if (value.kind == TemplateValueKind::Parameter) {
        double bytes = localBytes(value, layout), elements = bytes / double(value.elementBytes);
        cost.memory += elements * pricing.stateBytes;
        // The optimizer reads and writes each byte of the state once.
        double perStep = streamTime(device, Bytes(2 * elements * pricing.stateBytes)).value;
        if (pricing.dataRanks > 1)
          perStep += collectiveTime(pricing.cluster, CollectiveKind::AllReduce, Bytes(bytes), dataGroup).value;
        cost.time += perStep / double(pricing.microBatches);
        cost.time /= value.sharers;
        cost.memory /= value.sharers;
      }
      own.push_back(cost);
    }
    costs.addCosts(variable, own);
    makers[number] = {variable, std::move(layouts)};
    if (value.kind == TemplateValueKind::Parameter && value.shared >= 0)
      sharedVariables.push_back({value.shared, variable});
  }
  for (int input : layer.inputs)
    inputVariables.push_back(makers[input].variable);
  for (int output : layer.outputs) {
    std::vector<Layout> &layouts =
        outputLayouts.emplace_back(enumerateLayouts(layer.values[output].shape, pricing.grid));
    outputVariables.push_back(costs.addVariable("output " + layer.values[output].name, int(layouts.size())));
  }
}

TemplateNetwork::Conversion TemplateNetwork::conversion(const TemplateValue &value, const Layout &made,
                                                        const Need &need) {
  Layout wanted = made; // by the backward of what makes it
  wanted.partial.clear();
  return between(value, {made, wanted}, need);
}

// One form made of another; the gradient of the second joins that of the first. Gradients of parameters move once per
// step.
TemplateNetwork::Conversion TemplateNetwork::between(const TemplateValue &value, const Need &from, const Need &to) {
  Conversion result;
  result.forward = times.time(value.shape, value.elementBytes, from.value, to.value).value;
  if (value.hasGradient)
    result.gradient = times.time(value.shape, value.elementBytes, to.gradient, from.gradient).value;
  if (value.kind == TemplateValueKind::Parameter)
    result.gradient /= double(pricing.microBatches);
  return result;
}

/// Whether a compiled program makes a form that backward reads again: it is larger than the value as it is made.
bool TemplateNetwork::isDropped(const TemplateValue &value, const Layout &made, const Layout &form) const {
  return pricing.compiled && localBytes(value, form) > localBytes(value, made);
}

/// Forms kept from forward to backward, or made again: time and bytes of either.
std::pair<TableCost, TableCost> TemplateNetwork::waysToHold(const TemplateValue &value, const Layout &made,
                                                            llvm::ArrayRef<Layout> forms, Conversion conversion,
                                                            bool saved) const {
  TableCost keep{conversion.sum(), 0}, again = keep;
  again.time += conversion.forward;
  bool isParameter = value.kind == TemplateValueKind::Parameter, moves = false, drops = false;
  std::set<std::vector<std::vector<int>>> distinct;
  for (const Layout &form : forms) {
    if (!distinct.insert(form.dims).second)
      continue;
    double bytes = localBytes(value, form);
    bool dropped = saved && isDropped(value, made, form);
    drops |= dropped;
    moves |= form.dims != made.dims;
    if (isParameter && form.dims != made.dims) { // a copy, and a gradient that is accumulated in its layout
      double gradient = pricing.gradientBytes * bytes / double(value.elementBytes);
      keep.memory += (dropped ? 0 : bytes) + gradient;
      again.memory += gradient;
    } else if (!isParameter && saved && !dropped) {
      keep.memory += double(pricing.inFlight) * bytes;
    }
  }
  if (drops)
    keep.time += conversion.forward;
  if (drops && !isParameter && !distinct.count(made.dims))
    keep.memory += double(pricing.inFlight) * localBytes(value, made);
  if (!isParameter && saved)
    again.memory += double(pricing.inFlight) * localBytes(value, made);
  return {keep, pricing.regather && moves ? again : keep};
}

void TemplateNetwork::addConversions() {
  for (auto [opNumber, op] : llvm::enumerate(layer.ops))
    for (auto [number, value] : llvm::enumerate(op.operands)) {
      Use &use = uses[value].emplace_back();
      use.variable = opVariables[opNumber];
      use.op = int(opNumber);
      use.saved = op.savedOperands[number];
      use.asMade = pricing.compiled && op.followsOperand && number == 0;
      for (const OpStrategy &strategy : opStrategies[opNumber]) {
        Layout gradient;
        if (layer.values[value].hasGradient)
          gradient = operandGradientLayout(op, strategy, int(number));
        use.needs.push_back({operandLayout(op, strategy, int(number)), gradient});
      }
    }
  for (auto [output, variable, layouts] : llvm::zip_equal(layer.outputs, outputVariables, outputLayouts)) {
    Use &use = uses[output].emplace_back();
    use.variable = variable;
    use.op = -1;
    for (const Layout &layout : layouts)
      use.needs.push_back({layout, layer.values[output].hasGradient ? layout : Layout()});
    if (pricing.compiled)
      keepAsMade(makers[output], variable, layouts);
  }
  for (auto [value, list] : llvm::enumerate(uses)) {
    if (list.size() == 1)
      convertForOne(int(value), list.front());
    if (list.size() > 1)
      convertForSeveral(int(value), list);
  }
}

/// Compiled programs know one form of a value as it is made, wherever layers end.
void TemplateNetwork::keepAsMade(const Maker &maker, int variable, llvm::ArrayRef<Layout> layouts) {
  std::vector<TableCost> table;
  for (const Layout &made : maker.layouts)
    for (const Layout &layout : layouts)
      table.push_back(made.dims == layout.dims ? TableCost() : TableCost::impossible());
  costs.addCosts(maker.variable, variable, std::move(table));
}

void TemplateNetwork::convertForOne(int number, const Use &use) {
  const TemplateValue &value = layer.values[number];
  const Maker &maker = makers[number];
  std::vector<TableCost> table, others;
  for (const Layout &made : maker.layouts)
    for (const Need &need : use.needs) {
      auto [keep, again] = waysToHold(value, made, need.value, conversion(value, made, need), use.saved);
      if (use.asMade && need.value.dims != made.dims)
        keep = again = TableCost::impossible();
      table.push_back(keep);
      others.push_back(again);
    }
  costs.addCosts(maker.variable, use.variable, std::move(table), std::move(others));
}

/// The cheapest way to make all of `forms` (indices into the matrices): each of what is made or of another form.
TemplateNetwork::Conversion TemplateNetwork::cheapestTree(llvm::ArrayRef<int> forms,
                                                          llvm::ArrayRef<Conversion> fromMade,
                                                          llvm::ArrayRef<std::vector<Conversion>> fromForm,
                                                          std::vector<size_t> *parents) {
  Conversion best{TableCost::impossible().time, 0};
  size_t count = forms.size();
  std::vector<size_t> parent(count, count); // count: what is made
  auto isTree = [&] {
    for (size_t start = 0; start < count; ++start) {
      size_t at = start;
      for (size_t steps = 0; at != count; ++steps, at = parent[at])
        if (steps > count)
          return false;
    }
    return true;
  };
  auto choose = [&](auto &self, size_t node, Conversion sum) -> void {
    if (sum.sum() >= best.sum())
      return;
    if (node == count) {
      if (!isTree())
        return;
      best = sum;
      if (parents)
        *parents = parent;
      return;
    }
    for (size_t from = count + 1; from-- > 0;) {
      if (from == node)
        continue;
      parent[node] = from;
      const Conversion &step = from == count ? fromMade[forms[node]] : fromForm[forms[from]][forms[node]];
      self(self, node + 1, {sum.forward + step.forward, sum.gradient + step.gradient});
    }
  };
  choose(choose, 0, {});
  return best;
}

void TemplateNetwork::convertForSeveral(int number, llvm::ArrayRef<Use> uses) {
  const TemplateValue &value = layer.values[number];
  const Maker &maker = makers[number];
  std::map<Need, int> numbers;
  std::vector<Need> needs;
  for (const Use &use : uses)
    for (const Need &need : use.needs)
      if (numbers.try_emplace(need, int(needs.size())).second)
        needs.push_back(need);

  // All sets of up to as many layouts as there are users.
  std::vector<std::vector<int>> sets;
  std::vector<int> set;
  size_t most = std::min<size_t>(uses.size(), mostForms);
  auto setCount = [&](size_t size) { // an upper bound: with repetition
    double count = 1;
    for (size_t i = 0; i < size; ++i)
      count *= double(needs.size() + i) / double(i + 1);
    return count;
  };
  while (most > 1 && setCount(most) > mostSets)
    --most;
  auto extend = [&](auto &self, int first) -> void {
    if (!set.empty())
      sets.push_back(set);
    if (set.size() == most)
      return;
    for (int need = first; need < int(needs.size()); ++need) {
      set.push_back(need);
      self(self, need + 1);
      set.pop_back();
    }
  };
  extend(extend, 0);

  int variable = costs.addVariable("forms of " + value.name, int(sets.size()));
  std::vector<std::vector<Conversion>> fromForm(needs.size());
  for (auto [row, from] : llvm::zip_equal(fromForm, needs))
    for (const Need &to : needs)
      row.push_back(between(value, from, to));
  bool saved = llvm::any_of(uses, [](const Use &use) { return use.saved; });
  bool asMade = llvm::any_of(uses, [](const Use &use) { return use.asMade; });
  std::vector<TableCost> keeping(maker.layouts.size() * sets.size()), again(keeping.size());
  std::map<std::pair<std::vector<std::vector<int>>, std::vector<int>>, size_t>
      rows; // makers with one layout share a row
  for (auto [index, made] : llvm::enumerate(maker.layouts)) {
    size_t row = index * sets.size();
    auto [known, isNew] = rows.try_emplace({made.dims, made.partial}, row);
    if (!isNew) {
      std::copy_n(keeping.begin() + known->second, sets.size(), keeping.begin() + row);
      std::copy_n(again.begin() + known->second, sets.size(), again.begin() + row);
      continue;
    }
    std::vector<Conversion> fromMade;
    for (const Need &need : needs)
      fromMade.push_back(conversion(value, made, need));
    std::vector<Layout> layouts;
    for (auto [entry, forms] : llvm::enumerate(sets)) {
      layouts.clear();
      for (int form : forms)
        layouts.push_back(needs[form].value);
      std::tie(keeping[row + entry], again[row + entry]) =
          waysToHold(value, made, layouts, cheapestTree(forms, fromMade, fromForm), saved);
      if (asMade && llvm::any_of(layouts, [&](const Layout &layout) { return layout.dims != made.dims; }))
        keeping[row + entry] = again[row + entry] = TableCost::impossible();
    }
  }
  costs.addCosts(maker.variable, variable, std::move(keeping), std::move(again));
  for (const Use &use : uses) {
    std::vector<TableCost> table(sets.size() * use.needs.size(), TableCost::impossible());
    std::vector<std::vector<int>> valuesOf(needs.size()); // the user's values by what they need
    for (auto [index, need] : llvm::enumerate(use.needs))
      valuesOf[numbers.find(need)->second].push_back(int(index));
    for (auto [entry, forms] : llvm::enumerate(sets))
      for (int form : forms)
        for (int index : valuesOf[form])
          table[entry * use.needs.size() + index] = {};
    costs.addCosts(variable, use.variable, std::move(table));
  }
  formsOf[number] = {variable, std::move(needs), std::move(sets)};
}

// The last user's comes first, and each is added to the sum of those before it. While all are alike, the sum stays as
// they are; from the first other one on it is what is wanted, and each is brought to that by itself.
std::vector<ReshardStep> TemplateNetwork::gradientSteps(llvm::ArrayRef<Use> users, const TemplateValue &value,
                                                        const Layout &wanted, const std::vector<int> &assignment) {
  std::vector<ReshardStep> steps;
  auto bring = [&](const Layout &from) {
    llvm::append_range(steps, times.steps(value.shape, value.elementBytes, from, wanted));
  };
  std::optional<Layout> open;
  for (const Use &use : llvm::reverse(users)) {
    const Layout &gradient = use.needs[assignment[use.variable]].gradient;
    if (&use == &users.back())
      open = gradient;
    else if (!open || *open != gradient) {
      if (open)
        bring(*open);
      open.reset();
      bring(gradient);
    }
  }
  if (open)
    bring(*open);
  return steps;
}

void TemplateNetwork::addSteps(const TemplateValue &value, const Need &from, const Need &to, Movement &movement) {
  if (!pricing.compiled)
    return;
  llvm::append_range(movement.forwardSteps, times.steps(value.shape, value.elementBytes, from.value, to.value));
  if (value.hasGradient)
    llvm::append_range(movement.gradientSteps,
                       times.steps(value.shape, value.elementBytes, to.gradient, from.gradient));
}

void TemplateNetwork::addAgain(llvm::ArrayRef<Use> users, const TemplateValue &value, const Layout &made,
                               const std::vector<int> &assignment, Movement &movement) {
  std::set<std::vector<std::vector<int>>> distinct;
  bool forWeights = value.kind != TemplateValueKind::Parameter;
  for (const Use &use : users) {
    const Layout &form = use.needs[assignment[use.variable]].value;
    if (!use.saved || !isDropped(value, made, form))
      continue;
    forWeights &= llvm::any_of(layer.ops[use.op].operands,
                               [&](int operand) { return layer.values[operand].kind == TemplateValueKind::Parameter; });
    if (distinct.insert(form.dims).second)
      llvm::append_range(movement.againSteps, times.steps(value.shape, value.elementBytes, made, form));
  }
  movement.againForWeights = forWeights;
}

std::vector<Movement> TemplateNetwork::movements(const std::vector<int> &assignment, double pricePerByte) {
  std::vector<Movement> result;
  for (auto [number, value] : llvm::enumerate(layer.values)) {
    if (uses[number].empty())
      continue;
    const Layout &made = makers[number].layouts[assignment[makers[number].variable]];
    const Use &first = uses[number].front();
    std::vector<Layout> layouts;
    Conversion moved;
    Movement movement;
    Layout wanted = made; // as `conversion` has it
    wanted.partial.clear();
    if (formsOf[number].variable < 0) {
      const Need &need = first.needs[assignment[first.variable]];
      moved = conversion(value, made, need);
      layouts.push_back(need.value);
      addSteps(value, {made, wanted}, need, movement);
    } else {
      const Forms &forms = formsOf[number];
      llvm::ArrayRef<int> set = forms.sets[assignment[forms.variable]];
      std::vector<Conversion> fromMade;
      std::vector<std::vector<Conversion>> fromForm;
      std::vector<int> all;
      for (int form : set) {
        all.push_back(int(all.size()));
        layouts.push_back(forms.needs[form].value);
        fromMade.push_back(conversion(value, made, forms.needs[form]));
        std::vector<Conversion> &row = fromForm.emplace_back();
        for (int to : set)
          row.push_back(between(value, forms.needs[form], forms.needs[to]));
      }
      std::vector<size_t> parents;
      moved = cheapestTree(all, fromMade, fromForm, &parents);
      for (auto [form, parent] : llvm::zip(set, parents))
        addSteps(value, parent == set.size() ? Need{made, wanted} : forms.needs[set[parent]], forms.needs[form],
                 movement);
    }
    if (pricing.compiled && value.hasGradient && value.kind != TemplateValueKind::Parameter) {
      movement.gradientSteps = gradientSteps(uses[number], value, wanted, assignment);
      moved.gradient = 0;
      for (const ReshardStep &step : movement.gradientSteps)
        moved.gradient += times.stepTime(step).value;
    }
    bool saved = llvm::any_of(uses[number], [](const Use &use) { return use.saved; });
    auto [keep, again] = waysToHold(value, made, layouts, moved, saved);
    CostNetwork::Table ways;
    ways.costs = {keep};
    ways.others = {again};
    TableCost way = ways.at(0, pricePerByte);
    bool isAgain = way.time > keep.time;
    addAgain(uses[number], value, made, assignment, movement);
    movement.value = int(number);
    movement.user = first.op;
    movement.forward = Seconds(moved.forward);
    movement.gradient = Seconds(moved.gradient);
    if (isAgain)
      movement.again = movement.forward;
    for (const ReshardStep &step : movement.againSteps)
      movement.again += times.stepTime(step);
    for (const Layout &layout : layouts)
      if (layout != made)
        movement.traffic += Bytes(localBytes(value, layout));
    movement.kept = Bytes(way.memory);
    if (value.kind != TemplateValueKind::Parameter)
      movement.kept = movement.kept / double(std::max<int64_t>(1, pricing.inFlight));
    result.push_back(movement);
  }
  return result;
}

TemplateChoice TemplateNetwork::choice(std::vector<int> assignment, double pricePerByte) const {
  TemplateChoice choice;
  for (auto [variable, strategies] : llvm::zip_equal(opVariables, opStrategies))
    choice.strategies.push_back(strategies[assignment[variable]]);
  for (const Maker &maker : makers)
    choice.layouts.push_back(maker.variable < 0 ? Layout() : maker.layouts[assignment[maker.variable]]);
  for (auto [variable, layouts] : llvm::zip_equal(outputVariables, outputLayouts))
    choice.outputs.push_back(layouts[assignment[variable]]);
  choice.cost = costs.evaluate(assignment, pricePerByte);
  choice.assignment = std::move(assignment);
  return choice;
}

double TemplateNetwork::kernelTime(const std::vector<int> &assignment) const {
  double total = 0;
  for (auto [variable, seconds] : llvm::zip_equal(opVariables, kernelTimes))
    total += seconds[assignment[variable]];
  return total;
}

} // namespace mlir::ppc
