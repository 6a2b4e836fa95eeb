#include "ppc/Cluster/Cluster.h"
