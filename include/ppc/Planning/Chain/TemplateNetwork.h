// One template as a network of costs: a variable per op (its strategy), per parameter, input and boundary (its layout),
// and per value with several users (the set of layouts that it is brought to).
#ifndef PPC_PLANNING_CHAIN_TEMPLATENETWORK_H
#define PPC_PLANNING_CHAIN_TEMPLATENETWORK_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Planning/Chain/CostNetwork.h"
#include "ppc/Planning/Chain/OpStrategy.h"
#include "ppc/Planning/Chain/ReshardTimes.h"

#include <functional>

namespace mlir::ppc {

/// Setting for the cost model of templates.
struct TemplatePricing {
  const Cluster &cluster;
  /// Axes to shard templates over, outermost first; neighbours along the innermost are `stride` ranks apart.
  std::vector<LayoutAxis> grid;
  int64_t stride = 1;
  /// Data-parallel ranks around the mesh: gradients are summed over them once per step. The chain holds the part of one
  /// (cutDimension).
  int64_t dataRanks = 1;
  Precision precision = Precision::Bf16;
  AttentionKernel attention = AttentionKernel::Flash2;
  int64_t microBatches = 1; // per step: parameters' gradients and the optimizer are paid once per step
  int64_t inFlight = 1;     // micro-batches whose activations are held at once
  double stateBytes = 16;   // per element of a parameter: itself, gradient, master copy, optimizer state
  double gradientBytes = 4; // per element of a gradient that is accumulated
  /// Values gathered for forward may be dropped and gathered again for backward, activations and parameters, if that is
  /// better (sequence parallelism and ZeRO-3 do so). Without, they are saved.
  bool regather = true;
  /// Values move as in programs that PPC partitions (ReshardTimes).
  bool compiled = false;
  /// Restrict the choices (a pin, a menu); empty: everything.
  std::function<bool(const OpTemplate &, const TemplateOp &, const OpStrategy &)> allowStrategy = {};
  std::function<bool(const OpTemplate &, const TemplateValue &, const Layout &)> allowLayout = {};
};

/// Seconds of an op's kernels on the rank with most work.
struct OpSeconds {
  Seconds forward, backward; // backward with the gradients of weights
  Seconds ofWeights;         // part of backward: gradients of parameters, which may wait
};
/// Returns the matmuls of an op's kernels, with those inside attention, as compiled programs run them. Seconds of
/// matmuls are estimated from these.
llvm::SmallVector<LayerProduct, 0> productsOf(const TemplatePricing &pricing, const OpTemplate &layer,
                                              const TemplateOp &op, const OpStrategy &strategy);
OpSeconds kernelSeconds(const TemplatePricing &pricing, const OpTemplate &layer, const TemplateOp &op,
                        const OpStrategy &strategy);

/// Shardings of one template.
struct TemplateChoice {
  std::vector<OpStrategy> strategies; // per op
  /// Per value: the layout it is stored in (parameters, inputs, boundaries) or made in (computed values).
  std::vector<Layout> layouts;
  std::vector<Layout> outputs; // in which the outputs go on
  TableCost cost;              // seconds per micro-batch forward and backward, bytes of the rank with most
  std::vector<int> assignment; // assignment of the network, for evaluate
};

/// One value on its way from the layout it is made in to those that its users need, as a choice has it.
struct Movement {
  int value = 0;
  int user = -1;             // the first op of the layer that uses it; -1: only later layers use it
  Seconds forward, gradient; // gradient: for a parameter, a micro-batch's share of the costs once per step
  Seconds again;             // in backward: the value is gathered again as for forward, for `forward` seconds
  Bytes traffic;             // bytes of the layouts other than the one it is made in
  Bytes kept;                // bytes of an activation, from forward to backward; of a parameter, copies and their
                             // gradients
  std::vector<ReshardStep> forwardSteps, gradientSteps,
      againSteps;               // that these are the seconds of; a parameter's gradient's per step
  bool againForWeights = false; // only gradients of weights read the value that is gathered again
};

class TemplateNetwork {
public:
  /// A value is converted to at most this many layouts besides the one it is made in, and to fewer if there would be
  /// more than `mostSets` sets of that size (three axes and more).
  static constexpr int mostForms = 3, mostSets = 10000;

  /// All must outlive this.
  TemplateNetwork(const TemplatePricing &pricing, const OpTemplate &layer, ReshardTimes &times);

  const CostNetwork &network() const { return costs; }
  /// Variables of the inputs, of the shared parameters that occur, and of the outputs; in this order they are kept when
  /// the network is solved, so that templates can be chained.
  llvm::ArrayRef<int> inputs() const { return inputVariables; }
  llvm::ArrayRef<std::pair<int, int>> shared() const { return sharedVariables; } // (number in the chain, variable)
  llvm::ArrayRef<int> outputs() const { return outputVariables; }
  std::vector<int> kept() const;
  int opVariable(int op) const { return opVariables[op]; }
  llvm::ArrayRef<OpStrategy> strategies(int op) const { return opStrategies[op]; }

  TemplateChoice choice(std::vector<int> assignment, double pricePerByte) const;
  /// The part of an assignment's time that is spent in kernels; the rest moves data.
  double kernelTime(const std::vector<int> &assignment) const;
  /// Returns transfers and saved values, in the order of values. The cost of memory decides which values are gathered
  /// again.
  std::vector<Movement> movements(const std::vector<int> &assignment, double pricePerByte);

private:
  /// A layout that a user needs, and in which it gives the gradient back.
  struct Need {
    Layout value, gradient;
    bool operator<(const Need &other) const {
      return std::tie(value.dims, value.partial, gradient.dims, gradient.partial) <
             std::tie(other.value.dims, other.value.partial, other.gradient.dims, other.gradient.partial);
    }
  };
  /// One use: the variable of the user and the layout that each of its values needs.
  struct Use {
    int variable, op; // op -1: an output of the layer
    std::vector<Need> needs;
    bool saved = false;
    bool asMade = false; // in the layout that it is made in
  };

  void addOps();
  void addSources();
  void addConversions();
  void convertForOne(int value, const Use &use);
  void convertForSeveral(int value, llvm::ArrayRef<Use> uses);
  /// Seconds of one conversion.
  struct Conversion {
    double forward = 0, gradient = 0;
    double sum() const { return forward + gradient; }
  };
  Conversion conversion(const TemplateValue &value, const Layout &made, const Need &need);
  Conversion between(const TemplateValue &value, const Need &from, const Need &to);
  /// `parents`, if given: for each form the index in `forms` of the one that it is made from; forms.size(): from the
  /// made form.
  static Conversion cheapestTree(llvm::ArrayRef<int> forms, llvm::ArrayRef<Conversion> fromMade,
                                 llvm::ArrayRef<std::vector<Conversion>> fromForm,
                                 std::vector<size_t> *parents = nullptr);
  /// How compiled programs add up the gradients of a value's users.
  std::vector<ReshardStep> gradientSteps(llvm::ArrayRef<Use> users, const TemplateValue &value, const Layout &wanted,
                                         const std::vector<int> &assignment);
  void addSteps(const TemplateValue &value, const Need &from, const Need &to, Movement &movement);
  bool isDropped(const TemplateValue &value, const Layout &made, const Layout &form) const;
  void addAgain(llvm::ArrayRef<Use> users, const TemplateValue &value, const Layout &made,
                const std::vector<int> &assignment, Movement &movement);
  std::pair<TableCost, TableCost> waysToHold(const TemplateValue &value, const Layout &made,
                                             llvm::ArrayRef<Layout> forms, Conversion conversion, bool saved) const;
  double localBytes(const TemplateValue &value, const Layout &layout) const;

  const TemplatePricing &pricing;
  const OpTemplate &layer;
  ReshardTimes &times;
  CostNetwork costs;
  std::vector<int> opVariables, inputVariables, outputVariables;
  std::vector<std::pair<int, int>> sharedVariables;
  std::vector<std::vector<OpStrategy>> opStrategies;
  std::vector<std::vector<double>> kernelTimes; // per op and strategy
  std::vector<std::vector<Layout>> outputLayouts;
  struct Maker {
    int variable = -1;
    std::vector<Layout> layouts; // by the variable's value
  };
  void keepAsMade(const Maker &maker, int variable, llvm::ArrayRef<Layout> layouts);
  std::vector<Maker> makers;          // per value
  std::vector<std::vector<Use>> uses; // per value
  /// For a value with several users: its variable, the layouts that they may need, the sets of those.
  struct Forms {
    int variable = -1;
    std::vector<Need> needs;
    std::vector<std::vector<int>> sets;
  };
  std::vector<Forms> formsOf; // per value
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_TEMPLATENETWORK_H
