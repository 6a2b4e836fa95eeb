// All op families, for the generated documentation.
#ifndef PPCRT_IR_PPCRTOPS_TD
#define PPCRT_IR_PPCRTOPS_TD

include "dialects/ppcrt/IR/Collective.td"
include "dialects/ppcrt/IR/Library.td"
include "dialects/ppcrt/IR/Epilogue.td"
include "dialects/ppcrt/IR/Launch.td"
include "dialects/ppcrt/IR/Call.td"
include "dialects/ppcrt/IR/Asynchronous.td"
include "dialects/ppcrt/IR/Program.td"
include "dialects/ppcrt/IR/Action.td"

#endif // PPCRT_IR_PPCRTOPS_TD
