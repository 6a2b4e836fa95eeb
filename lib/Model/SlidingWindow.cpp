// Sliding windows: the number of keys that a query sees, and the layers that have one. Families differ in their keys.
#include "ConfigReader.h"

#include "llvm/ADT/Twine.h"

namespace mlir::ppc {

/// Every layer has the window, if there is one; layer_types, where a file has it, must say the same.
void ConfigReader::readWindowOfEveryLayer(std::optional<int64_t> window) {
  shape.slidingWindow = window.value_or(0);
  if (!reader.has("layer_types"))
    return mayBeNull({"layer_types"});
  std::vector<std::string> types = reader.strings("layer_types");
  llvm::StringRef expected = window ? "sliding_attention" : "full_attention";
  if (int64_t(types.size()) != shape.layers || llvm::any_of(types, [&](auto &type) { return type != expected; }))
    reader.reject("layer_types", "\"" + expected + "\" for each of the " + llvm::Twine(shape.layers) +
                                     " layers, as sliding_window says");
}

/// sliding_window holds where use_sliding_window is true.
std::optional<int64_t> ConfigReader::readQwenWindowSize() {
  mayBeNull({"sliding_window"});
  if (!reader.boolean("use_sliding_window", false)) {
    reader.ignore({"sliding_window"});
    return std::nullopt;
  }
  return slidingWindow(4096);
}

std::optional<int64_t> ConfigReader::slidingWindow(std::optional<int64_t> fallback) {
  mayBeNull({"sliding_window"});
  if (isNull("sliding_window"))
    fallback.reset();
  return reader.has("sliding_window") ? size("sliding_window") : fallback;
}

/// Whether the file says the type of each layer. A model has the window in each n-th layer, the first among them, or
/// nowhere.
bool ConfigReader::readLayerTypes(std::optional<int64_t> window) {
  mayBeNull({"layer_types"});
  if (!reader.has("layer_types"))
    return false;
  std::vector<std::string> types = reader.strings("layer_types");
  int64_t count = types.size(), every = 0;
  if (count != shape.layers)
    reader.fail("layer_types",
                "has " + llvm::Twine(count) + " types; num_hidden_layers is " + llvm::Twine(shape.layers));
  for (int64_t layer = 1; layer < count && !every; ++layer)
    if (types[layer] == "sliding_attention")
      every = layer;
  every = every ? every : std::max<int64_t>(count, 1);
  bool any = count && types[0] == "sliding_attention";
  for (int64_t layer = 0; layer < count; ++layer) {
    bool windowed = any && layer % every == 0;
    if (types[layer] != (windowed ? "sliding_attention" : "full_attention"))
      return reader.reject("layer_types", "\"sliding_attention\" for each n-th layer from the first on, and "
                                          "\"full_attention\" for the others"),
             true;
  }
  if (any && !window)
    reader.reject("layer_types", "no \"sliding_attention\" where use_sliding_window and sliding_window give no window");
  shape.slidingWindow = any ? window.value_or(0) : 0;
  shape.slidingWindowEvery = any ? every : 1;
  return true;
}

/// Without layer_types, the layers from max_window_layers on have the window.
void ConfigReader::readQwenWindow() {
  std::optional<int64_t> window = readQwenWindowSize();
  int64_t first = reader.integer("max_window_layers", 0, 28);
  if (readLayerTypes(window))
    return;
  if (window && first > 0 && first < shape.layers)
    reader.reject("max_window_layers",
                  "0 or at least num_hidden_layers: models whose first layers have no window cannot be built");
  shape.slidingWindow = first == 0 ? window.value_or(0) : 0;
}

/// Versions of the reference do not agree on the layers: in one all of them have the window, in others each second of
/// the first max_window_layers.
void ConfigReader::readQwen2MoeWindow() {
  if (reader.boolean("use_sliding_window", false))
    reader.reject("use_sliding_window",
                  "false: versions of the reference do not agree on which layers have the window");
  reader.ignore({"sliding_window", "max_window_layers"});
  mayBeNull({"sliding_window", "max_window_layers"});
  readLayerTypes(std::nullopt);
}

} // namespace mlir::ppc
