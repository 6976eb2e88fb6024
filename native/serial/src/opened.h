/** A terminal just opened, before a Port owns it. */
#pragma once

// Without uv.h: that brings glibc's termios, which clashes with the kernel's in files that set up a line.
#include "uucp-lock.h"

/** What `open` and `openPty` hand to a Port. */
struct Opened {
  int fd = -1;
  /** The device end of a pty that we own, held open so that its far end never reads EIO between two users. */
  int deviceFd = -1;
  int unsupported = 0;
  bool isExclusive = false;
  UucpLock lock;
};
