// The threads of a rank: those that oneDNN brings along in its OpenMP library, so that a rank has one set of them.
#pragma once

#include <cstdint>

namespace ppcrt {

// Cores that this process may run on.
int availableCores();

// Threads that library calls of this process use. Call it after fork and before the first library call: threads do not
// survive a fork.
void setLibraryThreads(int threads);

// Threads that library calls from this thread may use; 1 where oneDNN comes without OpenMP.
int libraryThreads();

// Within its life library calls of this thread use no other thread.
class OneThread {
public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread &) = delete;

private:
  int before;
};

// Calls body(context, i) once for each i of [0, count), from all threads of this rank; they take turns in no fixed
// order, and library calls within use one thread each. Returns when all are done. With one thread: in order.
void forEachOnThreads(int64_t count, void (*body)(void *context, int64_t i), void *context);

template <typename Body> void forEachOnThreads(int64_t count, const Body &body) {
  forEachOnThreads(
      count, [](void *context, int64_t i) { (*static_cast<const Body *>(context))(i); }, const_cast<Body *>(&body));
}

} // namespace ppcrt
