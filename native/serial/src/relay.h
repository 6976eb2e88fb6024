/**
 * Hands the answer that is expected next from a line to a socket, before JavaScript hears of it. What is expected, and
 * where it goes, JavaScript says for each answer; anything else that is read, or written, ends it.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "failure.h"

/** A frame that ends in the checksum of Modbus, which the socket does not get, and what goes before it. */
struct ExpectedFrame {
  std::vector<uint8_t> head;
  std::vector<uint8_t> begins;
  size_t length = 0;
};

class Relay {
 public:
  /** Takes a copy of the descriptor. */
  Failure join(int fd, uint32_t* id);
  /** An id that left has no effect, here and below. */
  void leave(uint32_t id);
  void expect(uint32_t id, ExpectedFrame frame);
  void expectNothing() { isExpecting = false; }
  /** Takes what was read at once. @returns how many bytes the socket took, the head among them; 0: it is not the frame */
  size_t pass(const uint8_t* bytes, size_t length);
  /** All sockets leave. */
  void stop();

 private:
  bool isExpected(const uint8_t* bytes, size_t length) const;

  std::map<uint32_t, int> sockets;
  uint32_t lastId = 0;
  bool isExpecting = false;
  uint32_t to = 0;
  ExpectedFrame frame;
};
