// Files of the runtime: descriptors that close themselves, writes that are complete or an error with path and bytes,
// read-only mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

// A file opened for writing. Every member throws InputError with the path and the text of errno.
class OutputFile {
public:
  OutputFile() = default;
  // Creates the file anew: one of that name is removed first, and a link is not followed.
  explicit OutputFile(const std::string &path);
  // Creates the file that is to replace `path` when it is complete, with the mode of what is there, under
  // partialPath(path, run), which nothing has yet. Messages call it by `path`.
  static OutputFile beside(const std::string &path, uint64_t run);
  // Takes over a descriptor of a stream, which is written in order whatever the offset.
  static OutputFile stream(int fd, const std::string &shown);
  // Opens what another process of the same run, possibly on another machine, has created beside `path`.
  static OutputFile joinBeside(const std::string &path, uint64_t run);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  // Reserves the first `bytes`, which read as zero: a full disk is known before the work.
  void reserve(int64_t bytes) const;
  void writeAt(const void *data, int64_t bytes, int64_t offset) const;
  // Returns when the content is on the disk.
  void sync() const;

  const std::string &path() const { return name; }

private:
  std::string name, shown;
  int fd = -1;
  bool ordered = false;
};

// A regular file opened for reading. Throws InputError.
class InputFile {
public:
  explicit InputFile(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  // All of them, or it throws.
  void readAt(void *data, int64_t bytes, int64_t offset) const;
  int64_t size() const { return length; }
  // Another number for another file of this machine, and for another content as far as the system tells: device, inode,
  // size and the times of the last changes.
  uint64_t identity() const { return stamp; }

private:
  std::string name;
  int fd;
  int64_t length = 0;
  uint64_t stamp = 0;
};

// A regular file, mapped for reading. Reading a part that the file has lost since ends the process with a message that
// names it.
class MappedFile {
public:
  // Throws InputError when the path cannot be read or is no regular file. An empty file maps to nothing.
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::byte *data() const { return bytes; }
  int64_t size() const { return length; }
  std::string_view text() const { return {reinterpret_cast<const char *>(bytes), size_t(length)}; }
  const std::string &path() const { return name; }

private:
  std::string name;
  const std::byte *bytes = nullptr;
  int64_t length = 0;
};

// Where a path leads behind symbolic links. What replaces a file takes this name, so that a link stays one.
std::string targetOf(const std::string &path);

// A number that no other run has, above 0 and below 2^63: part of the names of what a run writes, so that two that
// write the same path do not mix.
uint64_t drawRunNumber();

// What is to replace `path` until it is complete: TARGET.partial-RUN, in a name that is not too long.
std::string partialPath(const std::string &path, uint64_t run);

// What runs have left beside `path` that ended before it was complete: names of partial files that no process of this
// machine has open. Where the file system has no locks, none is found.
std::vector<std::string> abandonedPartials(const std::string &path);

// Opens the null device where one of the descriptors 0 to 2 is closed, so that no file gets its number and with it what
// is printed. Reading input and writing output fail as on the closed one; errors and notes go nowhere. To be called
// before anything is opened.
void reserveStandardStreams();

// The descriptor of this process that a path names (/dev/stdout, /dev/fd/N); -1: none.
int ownDescriptor(const std::string &path);

// A file of text that is written beside its path and takes its name when it is complete: until then
// what had that name stays. A stream is written directly.
class NewFile {
public:
  // Throws InputError when it cannot be written.
  explicit NewFile(const std::string &path);
  // Removes the partial file if it is still there. A process that was forked after the file was made leaves through
  // _exit, and may complete it.
  ~NewFile();
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  // Throw InputError.
  void append(std::string_view text);
  void commit();

private:
  void flush();

  std::string path;
  bool stream;
  OutputFile file;
  std::string held; // not written yet
  int64_t written = 0;
};

// Opens a stream for writing without waiting. Throws InputError when nothing reads the pipe.
int openStream(const std::string &path);
// What is written in order and in place: a pipe, a character device, what this process has open already.
bool isStream(const std::string &path);

// Opens a file that grows, whose content stays; creates it if need be. As long as it is open, here or in a process that
// was forked since, no other run gets it. Throws InputError.
int openGrowing(const std::string &path);

// All that comes through a pipe, at most 1 GiB. What writes it has a few seconds to begin; later pauses are told.
// Throws InputError; also for what is no pipe.
std::vector<unsigned char> readPipe(const std::string &path);

// The whole content of a regular file of at most `limit` bytes. Throws InputError.
std::string readText(const std::string &path, int64_t limit = int64_t(1) << 30);

// Writes a file and makes it durable. Throws InputError.
void writeText(const std::string &path, std::string_view text);

// Keeps others who do the same out of a folder until it is gone; where the file system has no such locks, it does
// nothing.
class FolderTurn {
public:
  explicit FolderTurn(const std::string &folder);
  ~FolderTurn();
  FolderTurn(const FolderTurn &) = delete;
  FolderTurn &operator=(const FolderTurn &) = delete;

private:
  int fd;
};

// Makes the names in a folder durable. Throws InputError.
void syncFolder(const std::string &path);

// rename(2). Throws InputError.
void renameFile(const std::string &from, const std::string &to);

// Exchanges two names at once; false where the file system cannot.
bool exchangeNames(const std::string &a, const std::string &b);

// Removes a file if there is one. Throws InputError when it stays.
void removeFile(const std::string &path);

} // namespace ppcrt
