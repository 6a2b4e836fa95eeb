// The part of Open MPI's binary interface that the runtime states itself, against mpi.h. Built where that is found.
#include "runtime/mpi/OpenMpi.h"

#include <mpi.h>

#include <type_traits>

using ppcrt::OpenMpi;

static_assert(OpenMpi::success == MPI_SUCCESS);
static_assert(OpenMpi::undefined == MPI_UNDEFINED);
static_assert(OpenMpi::threadSerialized == MPI_THREAD_SERIALIZED);
static_assert(OpenMpi::libraryVersionLength == MPI_MAX_LIBRARY_VERSION_STRING);
static_assert(sizeof(OpenMpi::Handle) == sizeof(MPI_Comm) && std::is_pointer_v<MPI_Comm>);
static_assert(sizeof(OpenMpi::Handle) == sizeof(MPI_Datatype) && std::is_pointer_v<MPI_Datatype>);
static_assert(sizeof(OpenMpi::Handle) == sizeof(MPI_Op) && std::is_pointer_v<MPI_Op>);
static_assert(sizeof(OpenMpi::Handle) == sizeof(MPI_Request) && std::is_pointer_v<MPI_Request>);

#include <gtest/gtest.h>

TEST(OpenMpiTest, SentinelsAreThoseOfTheHeader) {
  EXPECT_EQ(OpenMpi::inPlace(), MPI_IN_PLACE);
  EXPECT_EQ(OpenMpi::ignoreStatus, static_cast<void *>(MPI_STATUS_IGNORE));
  EXPECT_EQ(OpenMpi::ignoreStatus, static_cast<void *>(MPI_STATUSES_IGNORE));
}
