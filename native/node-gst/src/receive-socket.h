/** A socket that hears one group on one interface and nothing else, and knows when the kernel got each datagram. */
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "failure.h"

/** Where a path of a stream comes from. `source` is empty where no sender is named. */
struct ReceivePath {
  std::string group;
  int port = 0;
  std::string interfaceAddress;
  std::string source;
};

/** @param sourceOf IPv4 of `source` as on the wire, 0 for an empty one @param granted bytes the kernel gives it */
Failure openReceiveSocket(const ReceivePath& path, int bufferBytes, int* fd, uint32_t* sourceOf, int* granted);

/** CLOCK_REALTIME at which the kernel had it, in nanoseconds; 0 where it did not say. */
int64_t kernelStampNs(msghdr* message);
