// Routines of a GPU: the operations of their bodies, issued one after the other.
#pragma once

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Kernels.h"
#include "runtime/cuda/Products.h"
#include "runtime/executor/RoutineCode.h"
#include "runtime/transport/DeviceMemory.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ppcrt::cuda {

class Bodies final : public RoutineCode {
public:
  // Loads the kernels and plans the products of all bodies, and copies the constants. Everything is borrowed; throws
  // InputError that names the body.
  Bodies(CudaDevice &cuda, const ppcrt_program &program, const Manifest &manifest, const Device &device);
  ~Bodies() override;
  Bodies(const Bodies &) = delete;
  Bodies &operator=(const Bodies &) = delete;

  void run(RankContext &context, size_t number, void **buffers) override;
  void addTimes(OperationProfile &profile) override;
  // The products alone of all routines, on an arena of zeros, which stays one: what libraries put off until their first
  // call is done before the first step.
  void rehearse(RankContext &context, const DeviceMemory &memory);
  // Makes graphs of all routines on the buffers of each of the micro-batches, of which those share one whose slots are
  // the same, up to 128 of a routine; run() then launches these.
  void makeGraphs(RankContext &context, const DeviceMemory &memory, int64_t microBatches);

private:
  using Arguments = std::vector<Address>;

  // A routine on certain buffers: graphs of what lies between its communication, and that.
  struct Recorded {
    struct Step {
      GraphInstanceHandle *graph;     // or null:
      const BodyOperation *operation; // with what its body was called with
      Arguments arguments;
      size_t firstToken;
    };
    std::vector<Step> steps;
    size_t tokens = 0;
  };

  enum class Mode { Run, Rehearse, Record };
  struct Run {
    RankContext &context;
    Mode mode;
    std::vector<int64_t> requests; // [token] of all bodies that are under way
    Recorded *recorded = nullptr;
  };

  Arguments argumentsOf(size_t routine, const DeviceMemory &memory, int64_t microBatch) const;
  void runBody(Run &run, int number, const Arguments &arguments);
  void launch(const Run &run, const KernelLaunch &launch, const Arguments &arguments);
  void call(Run &run, const BodyCall &call, const Arguments &arguments);
  void communicate(Run &run, const BodyOperation &operation, const Arguments &arguments, size_t firstToken);
  void exchange(RankContext &context, const BodyExchange &exchange, const Arguments &arguments, int64_t &request);
  void runRecorded(RankContext &context, const Recorded &recorded);
  void closeGraph(Recorded &recorded);
  void mark(const Run &run, int64_t operation);
  Address at(const CodePlace &place, const Arguments &arguments) const {
    return (place.isConstant ? constants : arguments)[size_t(place.number)] + Address(place.bytes);
  }
  EpilogueAddresses at(const Epilogue &epilogue, const Arguments &arguments) const {
    return {epilogue.hasAddend ? at(epilogue.addend, arguments) : 0,
            epilogue.hasBias ? at(epilogue.bias, arguments) : 0,
            epilogue.hasAt    ? at(epilogue.at, arguments)
            : epilogue.hasSum ? at(epilogue.sum, arguments)
                              : 0};
  }

  CudaDevice &cuda;
  const DeviceCode &code;
  const Device &device;
  Kernels kernels;
  Products products;
  std::vector<Address> constants;
  std::vector<int> bodyOf;                                 // [routine]
  std::vector<std::vector<int>> numberOf;                  // [body][operation]: of a product in `products`
  std::map<std::pair<size_t, Arguments>, Recorded> graphs; // by routine and its buffers
  bool isGraphOpen = false;
  // Events of marks, in the order in which they were issued since addTimes(): of each, what begins there.
  std::vector<EventHandle *> markEvents;
  std::vector<int64_t> marked;
  std::vector<uint64_t> values; // of the operands of a launch
};

} // namespace ppcrt::cuda
