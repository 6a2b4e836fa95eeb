// Which files a run reads and which it writes, by its options: no output may be an input or another output.
#pragma once

namespace ppcrt {

struct Options;

// To be called before anything is opened for writing. Compares files by device and inode, so that links are seen
// through, and names of files that do not exist yet by the folder that they would be in. A folder of weights or
// checkpoints gets files of known names, which count. Pipes and character devices (/dev/null, /dev/stdout) can be any
// output that is written in order; other special files and folders cannot be one. Throws InputError naming both options
// and the path.
void checkRunFiles(const Options &options);

} // namespace ppcrt
