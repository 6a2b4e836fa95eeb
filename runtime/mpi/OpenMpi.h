// The few functions of Open MPI that the runtime calls, found with dlopen when a run needs them: a program links no
// MPI, starts where there is none, and is built without its headers. Handles of Open MPI are pointers, and its
// predefined ones are addresses of variables of the library; both hold for the versions 3, 4 and 5, whose libraries are
// called libmpi.so.40. test/Runtime compares the constants with mpi.h where that is installed.
#pragma once

#include <string>

namespace ppcrt {

struct OpenMpi {
  using Handle = void *; // MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request

  static constexpr int success = 0;                              // MPI_SUCCESS
  static constexpr int undefined = -32766;                       // MPI_UNDEFINED
  static constexpr int threadSerialized = 2;                     // MPI_THREAD_SERIALIZED
  static constexpr int libraryVersionLength = 256;               // MPI_MAX_LIBRARY_VERSION_STRING
  static void *inPlace() { return reinterpret_cast<void *>(1); } // MPI_IN_PLACE
  static constexpr void *ignoreStatus = nullptr;                 // MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE

  Handle world, byte, int64, min, requestNull, commNull;

  // As mpi.h declares them, without MPI_ before the name. Errors end the process, with a message by Open MPI.
  int (*Init_thread)(int *argc, char ***argv, int required, int *provided);
  int (*Finalize)();
  int (*Abort)(Handle comm, int status);
  int (*Comm_rank)(Handle comm, int *rank);
  int (*Comm_size)(Handle comm, int *size);
  int (*Comm_dup)(Handle comm, Handle *out);
  int (*Comm_split)(Handle comm, int color, int key, Handle *out);
  int (*Comm_free)(Handle *comm);
  int (*Bcast)(void *buffer, int count, Handle type, int root, Handle comm);
  int (*Allreduce)(const void *in, void *out, int count, Handle type, Handle op, Handle comm);
  int (*Allgather)(const void *in, int inCount, Handle inType, void *out, int outCount, Handle outType, Handle comm);
  int (*Isend)(const void *buffer, int count, Handle type, int peer, int tag, Handle comm, Handle *request);
  int (*Irecv)(void *buffer, int count, Handle type, int peer, int tag, Handle comm, Handle *request);
  int (*Recv)(void *buffer, int count, Handle type, int peer, int tag, Handle comm, void *status);
  int (*Waitall)(int count, Handle *requests, void *statuses);
  int (*Testall)(int count, Handle *requests, int *done, void *statuses);
  int (*Query_thread)(int *provided);
  int (*Get_library_version)(char *text, int *length);

  // Loads the library on the first call. Throws InputError that says what is missing and where it was looked for.
  static const OpenMpi &load();
  // "Open MPI v4.1.4"
  std::string version() const;
};

} // namespace ppcrt
