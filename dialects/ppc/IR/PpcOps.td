// All op families, for the generated documentation.
#ifndef PPC_IR_PPCOPS_TD
#define PPC_IR_PPCOPS_TD

include "dialects/ppc/IR/Elementwise.td"
include "dialects/ppc/IR/Matmul.td"
include "dialects/ppc/IR/Reduction.td"
include "dialects/ppc/IR/Attention.td"
include "dialects/ppc/IR/Indexing.td"
include "dialects/ppc/IR/Shape.td"
include "dialects/ppc/IR/Routing.td"
include "dialects/ppc/IR/Loss.td"
include "dialects/ppc/IR/Training.td"
include "dialects/ppc/IR/Placement.td"
include "dialects/ppc/IR/Collective.td"

#endif // PPC_IR_PPCOPS_TD
