/** A netlink socket: bind to a group, receive, look at the sender. */
#include "uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

/** The group of the kernel's own messages; udev tells what it made of them on group 2. */
static const unsigned kKernelGroup = 1;

/** Foreign messages passed over in one call, so that nobody who sends them keeps us here. */
static const int kMostForeign = 64;

Failure openUevents(int bufferBytes, int* fd) {
  int opened = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
  if (opened < 0) return failedCall("socket", errno);
  struct sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  Failure failure;
  if (setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &bufferBytes, sizeof bufferBytes) < 0)
    failure = failedCall("SO_RCVBUF", errno);
  else if (bind(opened, reinterpret_cast<struct sockaddr*>(&address), sizeof address) < 0)
    failure = failedCall("bind", errno);
  if (failure.failed()) ::close(opened);
  else *fd = opened;
  return failure;
}

Failure nextUevent(int fd, void* to, size_t size, ssize_t* length) {
  *length = -1;
  for (int foreign = 0; foreign < kMostForeign; foreign++) {
    struct sockaddr_nl sender = {};
    struct iovec part = {to, size};
    struct msghdr message = {};
    message.msg_name = &sender;
    message.msg_namelen = sizeof sender;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t n = recvmsg(fd, &message, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? Failure{} : failedCall("recvmsg", errno);
    // The kernel's address is 0, and nobody else can have it.
    if (sender.nl_pid != 0 || sender.nl_groups != kKernelGroup) continue;
    *length = n;
    break;
  }
  return Failure{};
}
