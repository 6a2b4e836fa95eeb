// The entry of a compiled program.
#include "runtime/include/ppcrt.h"

#include <cstdlib>
#include <unistd.h>

// The OpenMP library that oneDNN brings reads its environment when it is loaded, before main. Left alone, its threads
// spin for milliseconds when they wait, and a machine with more threads than cores comes to a stop; a short spin costs
// a few percent of a quiet machine. So the program sets it and starts itself once more; where it cannot, it goes on.
static void limitSpinning(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  limitSpinning(argv);
  return ppcrt_main(&ppc_program, argc, argv);
}
