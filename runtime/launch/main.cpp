// The entry of a compiled program.
#include "runtime/include/ppcrt.h"

int main(int argc, char **argv) { return ppcrt_main(&ppc_program, argc, argv); }
