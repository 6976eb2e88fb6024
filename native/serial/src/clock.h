/** The clock that stamps what is read. */
#pragma once

#include <time.h>

/** CLOCK_MONOTONIC in microseconds. */
inline double nowUs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec / 1000);
}
