// Names of arguments and results, and the comparison at the end.
#include "StepInterface.h"

namespace mlir::ppc {

std::string nameOfArgument(func::FuncOp function, unsigned number) {
  auto text = [&](StringRef key) { return function.getArgAttrOfType<StringAttr>(number, key); };
  if (StringAttr name = text(attr::parameter))
    return "parameter " + name.str();
  if (StringAttr state = text(attr::state))
    return state.str() + " of " + (text(attr::of) ? text(attr::of).str() : "?");
  if (StringAttr name = text(attr::scalar))
    return "scalar " + name.str();
  if (StringAttr name = text(attr::input))
    return "input " + name.str();
  return "argument " + std::to_string(number);
}

std::string nameOfResult(func::FuncOp function, unsigned number) {
  auto kind = function.getResultAttrOfType<StringAttr>(number, attr::result);
  auto of = function.getResultAttrOfType<StringAttr>(number, attr::of);
  if (!kind)
    return "result " + std::to_string(number);
  if (!of)
    return kind.str();
  return kind.str() + (kind == "parameter" ? " " : " of ") + of.str();
}

bool beginAlike(InitAttr a, InitAttr b) {
  auto kind = [](InitAttr init) { return init ? init.getKind() : InitKind::Zeros; };
  return kind(a) == kind(b) &&
         (kind(a) != InitKind::Normal || (a.getStddev() == b.getStddev() && a.getZeroRow() == b.getZeroRow()));
}

std::string describeInit(InitAttr init) {
  if (!init)
    return "zeros";
  std::string text;
  llvm::raw_string_ostream(text) << init;
  return text;
}

std::string compareOutput(const Named &wanted, const Relation &found, ShardingAttr sharding, RankedTensorType local,
                          bool needsZeroPadding, const RankAxes &axes, const TermTable &terms) {
  FailureOr<Relation> expected = axes.declared(wanted.term, wanted.type, sharding);
  if (failed(expected))
    return "is declared with a layout that does not fit its type";
  bool same = found.term == wanted.term && found.pending.empty() && found.cuts.size() == expected->cuts.size();
  for (unsigned dim = 0; same && dim < found.cuts.size(); ++dim) {
    int64_t extent = extentOf(found, dim, terms), whole = wanted.type.getDimSize(dim);
    same = extent == kAnyExtent // a block of any dimension
               ? axes.localSize(whole, expected->cuts[dim].axes) == local.getDimSize(dim)
               : extent == whole && found.cuts[dim].axes == expected->cuts[dim].axes;
  }
  if (!same)
    return "is not as declared: expected " + describe(*expected, terms) + "; found " + describe(found, terms);
  for (auto [dim, cut] : llvm::enumerate(found.cuts))
    if (bool isAlike = extentOf(found, dim, terms) == kAnyExtent && !terms.isZero(found.term);
        needsZeroPadding && (!cut.zeroPadding || isAlike) &&
        axes.isUneven(wanted.type.getDimSize(dim), expected->cuts[dim].axes))
      return "may have something else than zeros in its padding along dimension " + std::to_string(dim);
  return "";
}

} // namespace mlir::ppc
