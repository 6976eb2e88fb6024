/** setsockopt and getsockopt of TCP. */
#include "tcp.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

struct Option {
  const char* name;
  int level;
  int option;
  int value;
};

static Failure setOption(int fd, const Option& option) {
  if (setsockopt(fd, option.level, option.option, &option.value, sizeof option.value) == 0) return Failure{};
  return failedCall(option.name, errno);
}

Failure setPatience(int fd, const Patience& patience) {
  const Option options[] = {
      {"SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1},
      {"TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, patience.idleS},
      {"TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL, patience.intervalS},
      {"TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT, patience.count},
      {"TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, patience.userTimeoutMs},
  };
  for (const Option& option : options) {
    Failure failure = setOption(fd, option);
    if (failure.failed()) return failure;
  }
  return Failure{};
}

Failure setNoDelay(int fd) { return setOption(fd, {"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 1}); }

Failure readTcpCounts(int fd, TcpCounts* counts) {
  struct tcp_info info = {};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return failedCall("TCP_INFO", errno);
  // Both counts are there since Linux 4.1; a kernel gives as much of the structure as it knows.
  if (length < offsetof(struct tcp_info, tcpi_segs_out)) return failedCall("TCP_INFO", ENOTSUP);
  *counts = {static_cast<double>(info.tcpi_state), static_cast<double>(info.tcpi_bytes_received),
             static_cast<double>(info.tcpi_bytes_acked)};
  return Failure{};
}
