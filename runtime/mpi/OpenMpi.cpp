// dlopen and dlsym.
#include "runtime/mpi/OpenMpi.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>

namespace ppcrt {
namespace {

constexpr const char *libraryName = "libmpi.so.40";

void *open() {
  // Open MPI's own plugins look for its symbols among those of the program: RTLD_GLOBAL.
  if (void *library = dlopen(libraryName, RTLD_NOW | RTLD_GLOBAL))
    return library;
  std::string why = dlerror();
  throw InputError(format("the transport mpi needs Open MPI on every machine, but %s cannot be loaded (%s): install it "
                          "(Debian: libopenmpi3), or name its folder in LD_LIBRARY_PATH",
                          libraryName, why.c_str()));
}

template <typename T> void find(void *library, const char *name, T &out) {
  void *symbol = dlsym(library, name);
  if (!symbol)
    throw InputError(format("%s has no %s: the transport mpi works with Open MPI 3, 4 and 5", libraryName, name));
  out = reinterpret_cast<T>(symbol);
}

OpenMpi resolve(void *library) {
  OpenMpi mpi{};
  find(library, "ompi_mpi_comm_world", mpi.world);
  find(library, "ompi_mpi_comm_null", mpi.commNull);
  find(library, "ompi_mpi_byte", mpi.byte);
  find(library, "ompi_mpi_int64_t", mpi.int64);
  find(library, "ompi_mpi_op_min", mpi.min);
  find(library, "ompi_request_null", mpi.requestNull);
  find(library, "MPI_Init_thread", mpi.Init_thread);
  find(library, "MPI_Finalize", mpi.Finalize);
  find(library, "MPI_Abort", mpi.Abort);
  find(library, "MPI_Comm_rank", mpi.Comm_rank);
  find(library, "MPI_Comm_size", mpi.Comm_size);
  find(library, "MPI_Comm_dup", mpi.Comm_dup);
  find(library, "MPI_Comm_split", mpi.Comm_split);
  find(library, "MPI_Comm_free", mpi.Comm_free);
  find(library, "MPI_Bcast", mpi.Bcast);
  find(library, "MPI_Allreduce", mpi.Allreduce);
  find(library, "MPI_Allgather", mpi.Allgather);
  find(library, "MPI_Isend", mpi.Isend);
  find(library, "MPI_Irecv", mpi.Irecv);
  find(library, "MPI_Recv", mpi.Recv);
  find(library, "MPI_Waitall", mpi.Waitall);
  find(library, "MPI_Testall", mpi.Testall);
  find(library, "MPI_Query_thread", mpi.Query_thread);
  find(library, "MPI_Get_library_version", mpi.Get_library_version);
  return mpi;
}

} // namespace

const OpenMpi &OpenMpi::load() {
  static const OpenMpi mpi = resolve(open());
  return mpi;
}

std::string OpenMpi::version() const {
  char text[libraryVersionLength] = "";
  int length = 0;
  Get_library_version(text, &length);
  std::string version(text);
  return version.substr(0, version.find(','));
}

} // namespace ppcrt
