/** TCP servers: opens them and takes what connects. */
#pragma once

#include <string>

#include "failure.h"

/** One end of a connection, or where a server listens. */
struct Opened {
  int fd = -1;
  std::string address;
  int port = 0;
};

/**
 * Listens on a numeric address. `::` takes IPv4 as well, and falls back to 0.0.0.0 where the machine has no IPv6. The
 * port may be 0; `opened` has the one that was taken.
 */
Failure openListener(const std::string& address, int port, int backlog, Opened* opened);

/** The next connection, non-blocking. `opened->fd` stays -1 where none waits. */
Failure acceptNext(int listenerFd, Opened* opened);
