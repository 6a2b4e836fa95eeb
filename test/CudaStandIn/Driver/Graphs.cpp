// Graphs of the fake driver: operations issued on a stream while it is captured, issued again as a whole.
#include "test/CudaStandIn/Driver/Machine.h"

#include <utility>
#include <vector>

using namespace standin;

using Graph = std::vector<NamedWork>;

extern "C" {

int cuStreamBeginCapture_v2(Stream *stream, int) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (stream->captured)
    return machine.fail(CaptureUnsupported, "the stream is captured already");
  stream->captured = new Graph;
  return machine.status();
}

int cuStreamEndCapture(Stream *stream, Graph **graph) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (!stream->captured)
    return machine.fail(CaptureUnsupported, "the stream is not captured");
  *graph = std::exchange(stream->captured, nullptr);
  return machine.status();
}

int cuGraphInstantiateWithFlags(Graph **instance, Graph *graph, unsigned long long) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (machine.status() || !machine.mayPrepare("cuGraphInstantiateWithFlags"))
    return machine.status();
  *instance = new Graph(*graph);
  return Success;
}

int cuGraphLaunch(Graph *instance, Stream *stream) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (machine.status())
    return machine.status();
  machine.beginStep();
  stream = machine.astray(stream, "graph");
  for (const NamedWork &node : *instance)
    machine.enqueue(stream, node.name, node.work);
  return machine.status();
}

int cuGraphDestroy(Graph *graph) {
  delete graph;
  return Success;
}

int cuGraphExecDestroy(Graph *instance) {
  delete instance;
  return Success;
}

} // extern "C"
