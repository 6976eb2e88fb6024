/** Settings and counts of a TCP connection. In a file of its own: <linux/tcp.h> and what uv.h includes do not mix. */
#pragma once

#include <array>

#include "failure.h"

/** When a peer that says nothing more is given up. */
struct Patience {
  int idleS = 0;
  int intervalS = 0;
  int count = 0;
  int userTimeoutMs = 0;
};

/** What the kernel counts of a connection: state (TCP_ESTABLISHED is 1), bytes received, bytes the peer has. */
using TcpCounts = std::array<double, 3>;

/** SO_KEEPALIVE with TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, and TCP_USER_TIMEOUT for bytes nobody acknowledges. */
Failure setPatience(int fd, const Patience& patience);

Failure setNoDelay(int fd);

Failure readTcpCounts(int fd, TcpCounts* counts);
