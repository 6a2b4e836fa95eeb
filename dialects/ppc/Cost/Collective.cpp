// Work of collectives: bytes that one device sends and receives. Seconds on a network are computed by the cost
// model.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// One operation per element and device that is combined; who does it depends on the algorithm.
OpCost AllReduceOp::getCost() { return costOf(*this, elementsOf(getX()), Engine::Network); }
OpCost ReduceScatterOp::getCost() { return costOf(*this, elementsOf(getX()), Engine::Network); }
OpCost AllGatherOp::getCost() { return costOf(*this, 0, Engine::Network); }
OpCost AllToAllOp::getCost() { return costOf(*this, 0, Engine::Network); }

// A copy of one block, without communication.
OpCost LocalSliceOp::getCost() { return {0, bytesOf(getY()), bytesOf(getY()), Engine::Vector}; }
