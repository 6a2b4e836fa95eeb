#include "ppc/CostModel/KernelCost.h"
