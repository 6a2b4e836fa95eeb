// Attributes: parsing, printing, verification and the small questions about them.
#include "dialects/ppc/Ppc.h"
#include "ppc/Support/Limits.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::ppc;

/// `, recompute = {...}, activations = {...}, update = [...], gradients = [...]`, any of them, in any order, each once.
static ParseResult parseOptionalFields(AsmParser &parser, DictionaryAttr &recompute, DictionaryAttr &activations,
                                       ArrayAttr &update, BoolAttr &overlap, ArrayAttr &gradients, ArrayAttr &storage,
                                       StringAttr &offload, BoolAttr &rotate, IntegerAttr &pieces) {
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    auto parseOnce = [&](auto &field) -> ParseResult {
      if (field)
        return parser.emitError(loc) << "'" << name << "' is there twice";
      return parser.parseAttribute(field);
    };
    bool isKnown = llvm::is_contained(
        {"recompute", "activations", "update", "overlap", "gradients", "storage", "offload", "rotate", "pieces"}, name);
    if (!isKnown)
      return parser.emitError(loc)
             << "unknown field '" << name
             << "', expected recompute, activations, update, overlap, gradients, storage, offload, rotate or pieces";
    if (name == "recompute"   ? parseOnce(recompute)
        : name == "update"    ? parseOnce(update)
        : name == "overlap"   ? parseOnce(overlap)
        : name == "gradients" ? parseOnce(gradients)
        : name == "storage"   ? parseOnce(storage)
        : name == "offload"   ? parseOnce(offload)
        : name == "rotate"    ? parseOnce(rotate)
        : name == "pieces"    ? parseOnce(pieces)
                              : parseOnce(activations))
      return failure();
  }
  return success();
}

static void printOptionalFields(AsmPrinter &printer, DictionaryAttr recompute, DictionaryAttr activations,
                                ArrayAttr update, BoolAttr overlap, ArrayAttr gradients, ArrayAttr storage,
                                StringAttr offload, BoolAttr rotate, IntegerAttr pieces) {
  if (recompute)
    printer << ", recompute = " << recompute;
  if (activations)
    printer << ", activations = " << activations;
  if (update)
    printer << ", update = " << update;
  if (overlap)
    printer << ", overlap = " << overlap;
  if (gradients)
    printer << ", gradients = " << gradients;
  if (storage)
    printer << ", storage = " << storage;
  if (offload)
    printer << ", offload = " << offload;
  if (rotate)
    printer << ", rotate = " << rotate;
  if (pieces)
    printer << ", pieces = " << pieces;
}

#define GET_ATTRDEF_CLASSES
#include "dialects/ppc/IR/PpcAttrs.cpp.inc"

void PpcDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/ppc/IR/PpcAttrs.cpp.inc"
      >();
}

SmallVector<StringRef> ppc::axisNames(ArrayAttr axes) {
  return llvm::map_to_vector(axes, [](Attribute axis) { return cast<StringAttr>(axis).getValue(); });
}

// Axis names print bare: {dp, tp}.
static ParseResult parseAxes(AsmParser &parser, AsmParser::Delimiter delimiter, ArrayAttr &axes) {
  SmallVector<Attribute> names;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(delimiter, parseOne))
    return failure();
  axes = ArrayAttr::get(parser.getContext(), names);
  return success();
}

static void printAxes(AsmPrinter &printer, ArrayAttr axes) {
  llvm::interleaveComma(axisNames(axes), printer, [&](StringRef name) { printer.printKeywordOrString(name); });
}

//===-- #ppc.grid ---------------------------------------------------------===//

Attribute GridAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SmallVector<AxisRole> roles;
  auto parseOne = [&]() -> ParseResult {
    std::string name, role;
    int64_t size;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    roles.push_back(defaultAxisRole(name));
    if (succeeded(parser.parseOptionalColon())) {
      SMLoc roleLoc = parser.getCurrentLocation();
      if (parser.parseKeywordOrString(&role))
        return failure();
      std::optional<AxisRole> known = parseAxisRole(role);
      if (!known)
        return parser.emitError(roleLoc)
               << "unknown role '" << role
               << "' of a grid axis, expected data, tensor, context, expert, replica or stage";
      roles.back() = *known;
    }
    names.push_back(StringAttr::get(parser.getContext(), name));
    sizes.push_back(size);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), names, sizes, roles);
}

void GridAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip(getNames(), getSizes(), getRoles()), printer, [&](auto axis) {
    auto [name, size, role] = axis;
    printer.printKeywordOrString(name.getValue());
    printer << " = " << size;
    if (role != defaultAxisRole(name.getValue()))
      printer << " : " << toString(role);
  });
  printer << ">";
}

LogicalResult GridAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes, ArrayRef<AxisRole> roles) {
  llvm::StringSet<> seen;
  int64_t left = limits::devices;
  if (roles.size() != names.size())
    return emitError() << "grid has " << names.size() << " axes and " << roles.size() << " roles";
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (!seen.insert(name.getValue()).second)
      return emitError() << "grid axis " << name << " appears twice";
    if (size < 1)
      return emitError() << "grid axis " << name << " has size " << size << ", expected at least 1";
    if (size > left)
      return emitError() << "grid axis " << name << " of size " << size << " makes more than " << limits::devices
                         << " devices";
    left /= size;
  }
  return success();
}

int64_t GridAttr::size(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getNames(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return 1;
}

bool GridAttr::has(StringRef axis) const {
  return llvm::any_of(getNames(), [&](StringAttr name) { return name.getValue() == axis; });
}

AxisRole GridAttr::role(StringRef axis) const {
  for (auto [name, role] : llvm::zip(getNames(), getRoles()))
    if (name.getValue() == axis)
      return role;
  return defaultAxisRole(axis);
}

int64_t GridAttr::product(AxisRole role) const {
  int64_t count = 1;
  for (auto [size, known] : llvm::zip(getSizes(), getRoles()))
    if (known == role)
      count *= size;
  return count;
}

int64_t GridAttr::deviceCount() const {
  int64_t count = 1;
  for (int64_t size : getSizes())
    count *= size;
  return count;
}

int64_t GridAttr::product(ArrayAttr axes) const {
  int64_t count = 1;
  for (StringRef axis : axisNames(axes))
    count *= size(axis);
  return count;
}

//===-- #ppc.sharding -----------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<ArrayAttr> dims;
  SmallVector<StringAttr> partialAxes;
  SmallVector<Combiner> partialCombiners;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&] { return parseAxes(parser, AsmParser::Delimiter::Braces, dims.emplace_back()); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parsePartial = [&]() -> ParseResult {
      std::string name, combiner;
      if (parser.parseKeywordOrString(&name) || parser.parseColon())
        return failure();
      SMLoc combinerLoc = parser.getCurrentLocation();
      if (parser.parseKeywordOrString(&combiner))
        return failure();
      std::optional<Combiner> value = symbolizeCombiner(combiner);
      if (!value)
        return parser.emitError(combinerLoc)
               << "unknown combiner '" << combiner << "', expected sum, max or log_sum_exp";
      partialAxes.push_back(StringAttr::get(parser.getContext(), name));
      partialCombiners.push_back(*value);
      return success();
    };
    if (parser.parseKeyword("partial") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parsePartial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), dims, partialAxes, partialCombiners);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](ArrayAttr axes) {
    printer << "{";
    printAxes(printer, axes);
    printer << "}";
  });
  printer << "]";
  if (isPartial()) {
    printer << ", partial = {";
    llvm::interleaveComma(llvm::zip(getPartialAxes(), getPartialCombiners()), printer, [&](auto partial) {
      printer.printKeywordOrString(std::get<0>(partial).getValue());
      printer << ": " << stringifyCombiner(std::get<1>(partial));
    });
    printer << "}";
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<ArrayAttr> dims,
                                   ArrayRef<StringAttr> partialAxes, ArrayRef<Combiner> partialCombiners) {
  if (partialAxes.size() != partialCombiners.size())
    return emitError() << "sharding has " << partialAxes.size() << " partial axes but " << partialCombiners.size()
                       << " combiners";
  llvm::StringSet<> seen;
  auto once = [&](StringRef axis) -> LogicalResult {
    if (seen.insert(axis).second)
      return success();
    return emitError() << "axis \"" << axis << "\" appears twice in one sharding";
  };
  for (ArrayAttr axes : dims)
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "sharding axes must be strings, found " << axis;
      if (failed(once(name.getValue())))
        return failure();
    }
  for (StringAttr axis : partialAxes)
    if (failed(once(axis.getValue())))
      return failure();
  return success();
}

ShardingAttr ShardingAttr::replicated(MLIRContext *context, int64_t rank) {
  SmallVector<ArrayAttr> dims(rank, ArrayAttr::get(context, {}));
  return get(context, dims, {}, {});
}

bool ShardingAttr::isReplicated() const {
  return !isPartial() && llvm::all_of(getDims(), [](ArrayAttr axes) { return axes.empty(); });
}

ShardingAttr ShardingAttr::withoutPartial() const { return get(getContext(), getDims(), {}, {}); }

RankedTensorType ShardingAttr::localType(RankedTensorType logical, GridAttr grid) const {
  SmallVector<int64_t> shape;
  for (auto [extent, axes] : llvm::zip_equal(logical.getShape(), getDims()))
    shape.push_back(blockSize(extent, grid.product(axes)));
  return withShape(logical, shape);
}

//===-- #ppc.block and #ppc.init ------------------------------------------===//

Attribute BlockAttr::parse(AsmParser &parser, Type) {
  ArrayAttr axes;
  int64_t extent;
  if (parser.parseLess() || parseAxes(parser, AsmParser::Delimiter::Square, axes) || parser.parseComma() ||
      parser.parseInteger(extent) || parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, extent);
}

void BlockAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printAxes(printer, getAxes());
  printer << "], " << getExtent() << ">";
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeywordOrString(&name))
    return {};
  std::optional<InitKind> kind = symbolizeInitKind(name);
  if (!kind)
    return parser.emitError(loc) << "unknown initialisation '" << name << "', expected zeros, ones or normal",
           Attribute();
  double stddev = 0;
  if (*kind == InitKind::Normal && (parser.parseComma() || parser.parseFloat(stddev)))
    return {};
  std::optional<int64_t> zeroRow;
  if (*kind == InitKind::Normal && succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("zero_row") || parser.parseInteger(zeroRow.emplace()))
      return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), *kind, parser.getBuilder().getF64FloatAttr(stddev), zeroRow);
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitKind(getKind());
  if (getKind() == InitKind::Normal) {
    printer << ", ";
    printer.printFloat(getStddev().getValue());
    if (getZeroRow())
      printer << ", zero_row " << *getZeroRow();
  }
  printer << ">";
}

//===-- #ppc.plan ---------------------------------------------------------===//

bool LayerRange::contains(int64_t layer) const { return first <= layer && layer <= last; }

std::optional<LayerRange> mlir::ppc::parseLayerRange(StringRef text) {
  LayerRange range;
  auto [first, last] = text.split('-');
  if (first.getAsInteger(10, range.first) || range.first < 0)
    return std::nullopt;
  range.last = range.first;
  if (text.contains('-') && (last.getAsInteger(10, range.last) || range.last < range.first))
    return std::nullopt;
  return range;
}

static LogicalResult verifyRecompute(function_ref<InFlightDiagnostic()> emitError, DictionaryAttr recompute) {
  for (NamedAttribute rule : recompute) {
    if (!parseLayerRange(rule.getName()))
      return emitError() << "recompute: expected a layer or a range of layers such as \"1-8\", found "
                         << rule.getName();
    auto mode = dyn_cast<StringAttr>(rule.getValue());
    auto names = dyn_cast<ArrayAttr>(rule.getValue());
    bool valid = mode && llvm::is_contained({"none", "selective", "full"}, mode.getValue());
    valid |= names && llvm::all_of(names, [](Attribute name) { return isa<StringAttr>(name); });
    if (!valid)
      return emitError() << "recompute of layers " << rule.getName()
                         << " must be none, selective, full or a list of op names, found " << rule.getValue();
    for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>())
      if (std::string full = ("ppc." + cast<StringAttr>(name).getValue().split('.').first).str();
          !RegisteredOperationName::lookup(full, recompute.getContext()))
        return emitError() << "recompute of layers " << rule.getName() << ": there is no op " << full
                           << "; expected none, selective, full or names of ops";
  }
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, GridAttr grid, ArrayRef<int64_t> stages,
                               int64_t vp, StringAttr schedule, int64_t microBatches, DictionaryAttr dimensions,
                               DictionaryAttr parameters, DictionaryAttr recompute, DictionaryAttr activations,
                               ArrayAttr update, BoolAttr, ArrayAttr gradients, ArrayAttr storage, StringAttr offload,
                               BoolAttr rotate, IntegerAttr pieces) {
  for (auto [name, role] : llvm::zip(grid.getNames(), grid.getRoles()))
    if (role == AxisRole::Stage)
      return emitError() << "grid axis " << name
                         << " has the role stage: pipeline devices are what a plan's stages say";
  if (stages.empty() || stages.front() != 0)
    return emitError() << "a plan's stages start with layer 0";
  for (size_t i = 1; i < stages.size(); ++i)
    if (stages[i] <= stages[i - 1])
      return emitError() << "a plan's stages must start at increasing layers, found " << stages[i - 1] << " then "
                         << stages[i];
  if (vp < 1 || int64_t(stages.size()) % vp)
    return emitError() << "vp is " << vp << ", which does not divide the plan's " << stages.size() << " stages";
  if (microBatches < 1 || microBatches > limits::globalBatch)
    return emitError() << "micro_batches is " << microBatches << ", expected 1 to " << limits::globalBatch;
  auto verifyAxes = [&](const Twine &what, Attribute value) -> LogicalResult {
    auto axes = dyn_cast<ArrayAttr>(value);
    if (!axes || !llvm::all_of(axes, [](Attribute axis) { return isa<StringAttr>(axis); }))
      return emitError() << what << " must name a list of axes, found " << value;
    for (StringRef axis : axisNames(axes))
      if (!grid.has(axis))
        return emitError() << what << " is cut over axis \"" << axis << "\", which the grid does not have";
    return success();
  };
  for (NamedAttribute dimension : dimensions)
    if (failed(verifyAxes("dimension \"" + dimension.getName().getValue() + "\"", dimension.getValue())))
      return failure();
  for (NamedAttribute dimension : activations ? activations : DictionaryAttr::get(grid.getContext()))
    if (failed(verifyAxes("dimension \"" + dimension.getName().getValue() + "\" of activations", dimension.getValue())))
      return failure();
  if (update && failed(verifyAxes("the update", update)))
    return failure();
  auto beginsWith = [](ArrayAttr all, ArrayAttr first) {
    return all && first.size() <= all.size() && all.getValue().take_front(first.size()) == first.getValue();
  };
  if (gradients && !beginsWith(update, gradients))
    return emitError() << "gradients are cut over " << gradients << ", expected the first axes of the update";
  if (storage && !beginsWith(update, storage))
    return emitError() << "storage is cut over " << storage << ", expected the first axes of the update";
  SmallVector<StringRef> offloaded;
  if (offload)
    offload.getValue().split(offloaded, '+');
  for (auto [number, kind] : llvm::enumerate(offloaded))
    if (!llvm::is_contained({"optimizer", "activations", "parameters"}, kind) ||
        llvm::is_contained(ArrayRef(offloaded).take_front(number), kind))
      return emitError() << "offload is " << offload
                         << ", expected \"optimizer\", \"activations\", \"parameters\" or several with + between them";
  if (rotate && rotate.getValue() && !storage)
    return emitError() << "rotate = true goes with storage: nothing else has blocks to rotate";
  if (pieces && (!pieces.getType().isInteger(64) || pieces.getInt() < 1))
    return emitError() << "pieces is " << pieces << ", expected an i64 of 1 or more";
  for (NamedAttribute parameter : parameters)
    if (!isa<ShardingAttr>(parameter.getValue()))
      return emitError() << "parameter " << parameter.getName() << " must have a #ppc.sharding, found "
                         << parameter.getValue();
  return recompute ? verifyRecompute(emitError, recompute) : success();
}

bool PlanAttr::offloads(StringRef kind) const {
  return getOffload() && llvm::is_contained(llvm::split(getOffload().getValue(), '+'), kind);
}

PlanAttr PlanAttr::withRecompute(DictionaryAttr recompute) const {
  return get(getContext(), getGrid(), getStages(), getVp(), getSchedule(), getMicroBatches(), getDimensions(),
             getParameters(), recompute, getActivations(), getUpdate(), overlaps(), getGradients(), getStorage(),
             getOffload(), rotates(), pieces());
}

PlanAttr PlanAttr::withOverlap(bool overlap) const {
  return get(getContext(), getGrid(), getStages(), getVp(), getSchedule(), getMicroBatches(), getDimensions(),
             getParameters(), getRecompute(), getActivations(), getUpdate(), overlap, getGradients(), getStorage(),
             getOffload(), rotates(), pieces());
}

PlanAttr PlanAttr::withRotation(bool rotate) const {
  return get(getContext(), getGrid(), getStages(), getVp(), getSchedule(), getMicroBatches(), getDimensions(),
             getParameters(), getRecompute(), getActivations(), getUpdate(), overlaps(), getGradients(), getStorage(),
             getOffload(), rotate, pieces());
}

PlanAttr PlanAttr::withPieces(int64_t pieces) const {
  return get(getContext(), getGrid(), getStages(), getVp(), getSchedule(), getMicroBatches(), getDimensions(),
             getParameters(), getRecompute(), getActivations(), getUpdate(), overlaps(), getGradients(), getStorage(),
             getOffload(), rotates(), pieces);
}
