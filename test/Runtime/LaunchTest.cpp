// Whole runs of a program through its command line.
#include <gtest/gtest.h>
