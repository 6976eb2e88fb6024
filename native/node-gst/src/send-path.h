/** One way that packets go: a connected UDP socket with its marks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

#include "failure.h"

/** Where to, by which interface, and what routers and switches are told. */
struct SendTarget {
  /** IPv4, multicast or not. */
  std::string group;
  int port = 0;
  /** An address of this machine: of the interface that it goes by. */
  std::string interfaceAddress;
  int ttl = 0;
  /** 0..63, RFC 2474. */
  int dscp = 0;
};

/** Owns its socket. */
class SendPath {
 public:
  ~SendPath();
  SendPath() = default;
  SendPath(const SendPath&) = delete;

  Failure open(const SendTarget& target);
  /** Never waits: what the socket does not take at once is lost, and counted. */
  void send(const void* packet, size_t size);

  uint64_t sentCount() const { return sent.load(std::memory_order_relaxed); }
  uint64_t failedCount() const { return failed.load(std::memory_order_relaxed); }
  /** errno of the last packet that failed since one was sent, 0 for none. */
  int lastError() const { return err.load(std::memory_order_relaxed); }

 private:
  int fd = -1;
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<int> err{0};
};
