/**
 * Bound to the group itself, and without IP_MULTICAST_ALL, so that two groups on one port do not mix. Who is named as the
 * sender is asked for by source (IGMPv3, RFC 4607); switches that know no sources send all the same, so whoever reads
 * looks at the sender of each datagram too.
 */
#include "receive-socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "audio-time.h"

struct Addresses {
  in_addr group{};
  in_addr interface{};
  in_addr source{};
};

static Failure readAddresses(const ReceivePath& path, Addresses* read) {
  bool isRead = inet_pton(AF_INET, path.group.c_str(), &read->group) == 1 &&
                inet_pton(AF_INET, path.interfaceAddress.c_str(), &read->interface) == 1 &&
                (path.source.empty() || inet_pton(AF_INET, path.source.c_str(), &read->source) == 1);
  return isRead ? Failure() : failedCall("inet_pton", EINVAL);
}

static Failure setOption(int fd, int level, int option, int value, const char* name) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0 ? Failure() : failedCall(name, errno);
}

static Failure join(int fd, const Addresses& addresses) {
  if (!IN_MULTICAST(ntohl(addresses.group.s_addr))) return Failure();
  if (addresses.source.s_addr != 0) {
    ip_mreq_source request{};
    request.imr_multiaddr = addresses.group;
    request.imr_interface = addresses.interface;
    request.imr_sourceaddr = addresses.source;
    int done = setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &request, sizeof request);
    return done == 0 ? Failure() : failedCall("IP_ADD_SOURCE_MEMBERSHIP", errno);
  }
  ip_mreq request{addresses.group, addresses.interface};
  int done = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  return done == 0 ? Failure() : failedCall("IP_ADD_MEMBERSHIP", errno);
}

static Failure prepare(int fd, const ReceivePath& path, const Addresses& addresses, int bufferBytes) {
  Failure failure = setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (!failure.failed()) failure = setOption(fd, SOL_SOCKET, SO_RCVBUF, bufferBytes, "SO_RCVBUF");
  if (!failure.failed()) failure = setOption(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
  if (!failure.failed()) failure = setOption(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0, "IP_MULTICAST_ALL");
  if (failure.failed()) return failure;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(path.port));
  name.sin_addr = addresses.group;
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return failedCall("bind", errno);
  return join(fd, addresses);
}

Failure openReceiveSocket(const ReceivePath& path, int bufferBytes, int* fd, uint32_t* sourceOf, int* granted) {
  Addresses addresses;
  Failure failure = readAddresses(path, &addresses);
  if (failure.failed()) return failure;
  *sourceOf = addresses.source.s_addr;
  int opened = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (opened < 0) return failedCall("socket", errno);
  failure = prepare(opened, path, addresses, bufferBytes);
  if (failure.failed()) {
    close(opened);
    return failure;
  }
  socklen_t length = sizeof *granted;
  // The kernel doubles what it was asked for, for its own book-keeping.
  if (getsockopt(opened, SOL_SOCKET, SO_RCVBUF, granted, &length) == 0) *granted /= 2;
  *fd = opened;
  return Failure();
}

int64_t kernelStampNs(msghdr* message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp;
    std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
    return static_cast<int64_t>(stamp.tv_sec) * NS_PER_SECOND + stamp.tv_nsec;
  }
  return 0;
}
