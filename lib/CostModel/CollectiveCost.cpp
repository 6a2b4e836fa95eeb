#include "ppc/CostModel/CollectiveCost.h"
