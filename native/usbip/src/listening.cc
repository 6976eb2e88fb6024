/** socket, bind, listen, accept4. */
#include "listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** Room for either family. */
union Place {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

/** Length of the address, 0 where the text is none. */
static socklen_t placeOf(const std::string& address, int port, Place* place) {
  memset(place, 0, sizeof *place);
  if (inet_pton(AF_INET, address.c_str(), &place->v4.sin_addr) == 1) {
    place->v4.sin_family = AF_INET;
    place->v4.sin_port = htons(static_cast<uint16_t>(port));
    return sizeof place->v4;
  }
  if (inet_pton(AF_INET6, address.c_str(), &place->v6.sin6_addr) == 1) {
    place->v6.sin6_family = AF_INET6;
    place->v6.sin6_port = htons(static_cast<uint16_t>(port));
    return sizeof place->v6;
  }
  return 0;
}

static void describe(const Place& place, Opened* opened) {
  char text[INET6_ADDRSTRLEN] = "";
  bool isV4 = place.any.sa_family == AF_INET;
  const void* bytes = isV4 ? static_cast<const void*>(&place.v4.sin_addr) : &place.v6.sin6_addr;
  inet_ntop(place.any.sa_family, bytes, text, sizeof text);
  opened->address = text;
  opened->port = ntohs(isV4 ? place.v4.sin_port : place.v6.sin6_port);
  char name[IF_NAMESIZE];
  // A link-local address means something on its own interface only.
  if (!isV4 && place.v6.sin6_scope_id != 0 && if_indextoname(place.v6.sin6_scope_id, name) != nullptr)
    opened->address += std::string("%") + name;
}

static Failure listenOn(int fd, const Place& place, socklen_t length, int backlog) {
  int on = 1;
  int off = 0;
  // A restart may not wait for connections of the run before; of another that listens it still says EADDRINUSE.
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) return failedCall("SO_REUSEADDR", errno);
  if (place.any.sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0)
    return failedCall("IPV6_V6ONLY", errno);
  if (bind(fd, &place.any, length) < 0) return failedCall("bind", errno);
  if (listen(fd, backlog) < 0) return failedCall("listen", errno);
  return Failure{};
}

Failure openListener(const std::string& address, int port, int backlog, Opened* opened) {
  Place place;
  socklen_t length = placeOf(address, port, &place);
  if (length == 0) return failedCall("inet_pton", EINVAL);
  int fd = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 && errno == EAFNOSUPPORT && address == "::") return openListener("0.0.0.0", port, backlog, opened);
  if (fd < 0) return failedCall("socket", errno);
  Failure failure = listenOn(fd, place, length, backlog);
  if (!failure.failed() && getsockname(fd, &place.any, &length) < 0) failure = failedCall("getsockname", errno);
  if (failure.failed()) {
    ::close(fd);
    // Where IPv6 is compiled in and switched off, a socket is to be had and `::` is not.
    if (failure.err == EADDRNOTAVAIL && address == "::") return openListener("0.0.0.0", port, backlog, opened);
    return failure;
  }
  describe(place, opened);
  opened->fd = fd;
  return Failure{};
}

Failure acceptNext(int listenerFd, Opened* opened) {
  Place place = {};
  socklen_t length = sizeof place;
  int fd = accept4(listenerFd, &place.any, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // The peer may have gone again, and so may its network: accept(2) says to take these as if nobody had come.
    const int passing[] = {EAGAIN, EINTR, ECONNABORTED, EPERM, ENETDOWN, EPROTO, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH};
    for (int err : passing)
      if (errno == err) return Failure{};
    return failedCall("accept4", errno);
  }
  describe(place, opened);
  opened->fd = fd;
  return Failure{};
}
