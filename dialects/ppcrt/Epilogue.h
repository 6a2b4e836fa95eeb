// Matmuls with epilogues, apart from PpcRt.h: few files need them.
#ifndef PPC_DIALECTS_EPILOGUE_H
#define PPC_DIALECTS_EPILOGUE_H

#include "dialects/ppcrt/PpcRt.h"

#include "dialects/ppcrt/IR/EpilogueEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Epilogue.h.inc"

#endif // PPC_DIALECTS_EPILOGUE_H
