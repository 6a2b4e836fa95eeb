#include "ppc/Model/ModelShape.h"
