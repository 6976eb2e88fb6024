/** Opens and marks sockets for sending. */
#include "send-path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool addressOf(const std::string& host, int port, sockaddr_in* address) {
  *address = {};
  address->sin_family = AF_INET;
  address->sin_port = htons(static_cast<uint16_t>(port));
  return inet_pton(AF_INET, host.c_str(), &address->sin_addr) == 1;
}

template <class T>
static Failure setOption(int fd, int level, int option, const T& value, const char* name) {
  return setsockopt(fd, level, option, &value, sizeof value) < 0 ? failedCall(name, errno) : Failure{};
}

static Failure mark(int fd, const SendTarget& target, const in_addr& interface) {
  Failure failure = setOption(fd, IPPROTO_IP, IP_MULTICAST_IF, interface, "IP_MULTICAST_IF");
  if (!failure.failed()) failure = setOption(fd, IPPROTO_IP, IP_MULTICAST_TTL, target.ttl, "IP_MULTICAST_TTL");
  if (!failure.failed()) failure = setOption(fd, IPPROTO_IP, IP_TTL, target.ttl, "IP_TTL");
  // Receivers on this very machine hear it too.
  if (!failure.failed()) failure = setOption(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1, "IP_MULTICAST_LOOP");
  // The upper six bits of what was the type of service. RFC 2474 3
  if (!failure.failed()) failure = setOption(fd, IPPROTO_IP, IP_TOS, target.dscp << 2, "IP_TOS");
  return failure;
}

SendPath::~SendPath() {
  if (fd >= 0) close(fd);
}

Failure SendPath::open(const SendTarget& target) {
  sockaddr_in from, to;
  if (!addressOf(target.interfaceAddress, 0, &from) || !addressOf(target.group, target.port, &to))
    return failedCall("inet_pton", EINVAL);
  fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failedCall("socket", errno);
  Failure failure = mark(fd, target, from.sin_addr);
  if (failure.failed()) return failure;
  if (bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from) < 0) return failedCall("bind", errno);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0) return failedCall("connect", errno);
  return {};
}

void SendPath::send(const void* packet, size_t size) {
  bool isSent = ::send(fd, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  err.store(isSent ? 0 : errno, std::memory_order_relaxed);
  (isSent ? sent : failed).fetch_add(1, std::memory_order_relaxed);
}
