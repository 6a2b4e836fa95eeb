// Seconds that a collective takes on a cluster: the fastest of the algorithms that a collective library would pick from
// (ring, tree, in-network, hierarchical), over the links that the group's placement crosses. Derivations:
// docs/internals/CostModel.md.
#ifndef PPC_COSTMODEL_COLLECTIVECOST_H
#define PPC_COSTMODEL_COLLECTIVECOST_H

#include "ppc/Cluster/Cluster.h"

namespace mlir::ppc {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast };
llvm::StringRef toString(CollectiveKind kind);

/// Time of a collective. `bytes`: the full (unsharded) tensor for AllReduce, AllGather, ReduceScatter and Broadcast;
/// for AllToAll the buffer of each rank before it (1 / size of it stays). A group of one takes no time. The placement
/// is over the levels of the first group of devices, with one more entry if it reaches through `between`. Allocates
/// nothing.
Seconds collectiveTime(const Cluster &cluster, CollectiveKind kind, Bytes bytes, const GroupPlacement &placement);
/// Overload for given levels: of another group of devices, or joinedLevels.
Seconds collectiveTime(llvm::ArrayRef<ClusterLevel> levels, CollectiveKind kind, Bytes bytes,
                       const GroupPlacement &placement);
/// Time of the dispatch of tokens to experts (or of the combine): `tokens` are the bytes of each rank, every token goes
/// to `copies` experts that are spread evenly over the group's ranks. Without `oncePerUnit` each copy travels
/// separately, as in AllToAll; with it a token crosses each level once per destination unit, is copied there, and
/// reaches each rank once (DeepEP, HybridEP).
Seconds tokenExchangeTime(const Cluster &cluster, Bytes tokens, int64_t copies, bool oncePerUnit,
                          const GroupPlacement &placement);
/// Which algorithm that time is of: "ring", "tree", "in-network", "hierarchical", "direct", "none" (a group of one).
llvm::StringRef collectiveAlgorithm(const Cluster &cluster, CollectiveKind kind, Bytes bytes,
                                    const GroupPlacement &placement);

/// Returns, per level of the placement, the share of link capacity that the collective uses while it runs: near 1 on
/// the level that limits it, 0 on levels that it does not cross.
llvm::SmallVector<double, 4> linkShares(const Cluster &cluster, CollectiveKind kind, Bytes bytes,
                                        const GroupPlacement &placement);

/// One message between ranks `stride` apart, wherever that is slowest, `sharers` such messages leaving the same
/// innermost unit at once.
Seconds pointToPointTime(const Cluster &cluster, Bytes bytes, int64_t stride, int64_t sharers = 1);
/// Overload for two given ranks, which may belong to different groups of devices.
Seconds pointToPointTime(const Cluster &cluster, Bytes bytes, int64_t from, int64_t to, int64_t sharers);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_COLLECTIVECOST_H
