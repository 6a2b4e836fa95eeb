// What must hold of collective times on any cluster, and on the presets.
#include "ppc/CostModel/CollectiveCost.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

TEST(CollectiveCost, InsideANodeIsFasterThanAcross) {
  for (const char *name : {"dgx-a100:16", "dgx-h100:16"}) {
    Cluster cluster = llvm::cantFail(findCluster(name));
    for (double bytes = 1 << 10; bytes <= 1e10; bytes *= 4)
      for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                  CollectiveKind::AllToAll, CollectiveKind::Broadcast}) {
        Seconds inside = collectiveTime(cluster, kind, Bytes(bytes), placeGroup(cluster.levels(), 1, 8));
        Seconds across = collectiveTime(cluster, kind, Bytes(bytes), placeGroup(cluster.levels(), 8, 8));
        EXPECT_LT(inside, across) << name << " " << toString(kind).str() << " " << bytes;
      }
    EXPECT_EQ(collectiveTime(cluster, CollectiveKind::AllReduce, Bytes(1e6), placeGroup(cluster.levels(), 8, 1)), Seconds(0));
  }
}
