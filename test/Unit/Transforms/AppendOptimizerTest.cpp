// The update of @step against a direct computation from the gradients of @loss.
#include "TrainingModels.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

static void checkUpdate(MLIRContext &context, OwningOpRef<ModuleOp> model, AppendOptimizerPassOptions options,
                        double step, unsigned seed) {
  ASSERT_TRUE(succeeded(run(*model, passes(createBuildBackwardPass()))));
  OwningOpRef<ModuleOp> training = model->clone();
  ASSERT_TRUE(succeeded(run(*training, passes(createAppendOptimizerPass(options)))));
  auto loss = *model->getOps<func::FuncOp>().begin();
  auto function = training->lookupSymbol<func::FuncOp>("step");
  ASSERT_TRUE(function);
  RankValues arguments = randomArguments(function, seed);
  arguments[findArgument(function, attr::scalar, "step")].data[0] = step;
  double rate = arguments[findArgument(function, attr::scalar, "learning_rate")].data[0];
  FailureOr<RankValues> gradients = interpret(loss, ArrayRef(arguments).take_front(loss.getNumArguments()));
  FailureOr<RankValues> results = interpret(function, arguments);
  ASSERT_TRUE(succeeded(gradients) && succeeded(results));

  double norm = 0;
  for (const ReferenceTensor &gradient : ArrayRef(*gradients).drop_front())
    for (double value : gradient.data)
      norm += value * value;
  norm = std::sqrt(norm);
  double scale = options.maxNorm > 0 && norm + 1e-6 > options.maxNorm ? options.maxNorm / (norm + 1e-6) : 1;
  EXPECT_EQ((*results)[findResult(function, "loss")].data[0], (*gradients)[0].data[0]);
  EXPECT_NEAR((*results)[findResult(function, "grad_norm")].data[0], norm, 1e-12 * norm);
  int decayed = 0, undecayed = 0;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    auto name = loss.getArgAttrOfType<StringAttr>(i, attr::parameter);
    if (!name)
      continue;
    bool decays = !name.getValue().starts_with("b"); // buildMlp excludes the biases b0, b1, ...
    ++(decays ? decayed : undecayed);
    const ReferenceTensor &gradient = (*gradients)[findResult(loss, "gradient", name)];
    ReferenceTensor p = arguments[i], m = arguments[findArgument(function, attr::state, "m", name)],
                    v = arguments[findArgument(function, attr::state, "v", name)];
    for (size_t e = 0; e < p.data.size(); ++e) {
      double g = gradient.data[e] * scale;
      m.data[e] = options.beta1 * m.data[e] + (1 - options.beta1) * g;
      v.data[e] = options.beta2 * v.data[e] + (1 - options.beta2) * g * g;
      double mHat = m.data[e] / (1 - std::pow(options.beta1, step)),
             vHat = v.data[e] / (1 - std::pow(options.beta2, step));
      p.data[e] = p.data[e] * (1 - (decays ? rate * options.weightDecay : 0)) -
                  rate * mHat / (std::sqrt(vHat) + options.epsilon);
    }
    EXPECT_TRUE(near((*results)[findResult(function, "gradient", name)], gradient, 0)) << name.str();
    EXPECT_TRUE(near((*results)[findResult(function, "parameter", name)], p, 1e-12)) << name.str();
    EXPECT_TRUE(near((*results)[findResult(function, "m", name)], m, 1e-12)) << name.str();
    EXPECT_TRUE(near((*results)[findResult(function, "v", name)], v, 1e-12)) << name.str();
  }
  EXPECT_GT(decayed, 0);
  EXPECT_GT(undecayed, 0);
}

TEST(AppendOptimizer, EqualsTheFormulas) {
  MLIRContext context;
  for (double maxNorm : {0.0, 1e-3, 0.5, 1e3}) // off, far below, near and above the norm
    for (double step : {1.0, 2.0, 1000.0})
      for (bool tied : {false, true}) {
        AppendOptimizerPassOptions options;
        options.maxNorm = maxNorm;
        checkUpdate(context, buildMlp(context, {3, 4, 3, tied}), options, step, 7);
      }
}

TEST(AppendOptimizer, TakesItsOptions) {
  MLIRContext context;
  AppendOptimizerPassOptions options;
  options.beta1 = 0.5, options.beta2 = 0.25, options.epsilon = 0.125, options.weightDecay = 3, options.maxNorm = 0.25;
  checkUpdate(context, buildMlp(context, {2}), options, 2, 8);
  options.beta1 = 0, options.beta2 = 0, options.weightDecay = 0;
  checkUpdate(context, buildMlp(context, {2}), options, 1, 9);
}

TEST(AppendOptimizer, StateFollowsParameters) {
  MLIRContext context;
  OwningOpRef<ModuleOp> model = buildLlama(context, {});
  ASSERT_TRUE(succeeded(buildStep(*model, 1)));
  auto function = model->lookupSymbol<func::FuncOp>("step");
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, attr::parameter);
    if (!name)
      continue;
    for (StringRef kind : {"m", "v"}) {
      int state = findArgument(function, attr::state, kind, name);
      ASSERT_GE(state, 0) << name.str();
      EXPECT_EQ(function.getArgumentTypes()[state], function.getArgumentTypes()[i]) << name.str();
      EXPECT_EQ(function.getArgAttr(state, attr::dims), function.getArgAttr(i, attr::dims)) << name.str();
    }
  }
}
