/**
 * Hands an answer from a line to the socket that waits for it, and the next question of that socket to the line, before
 * JavaScript hears of either. What may pass JavaScript says for each one; anything else that is read, or written, ends it.
 */
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "failure.h"
#include "linger.h"
#include "socket-copies.h"

class Relay;

/** The terminal as a relay needs it; a Port is one. */
class RelayLine {
 public:
  /** Writes at once unless there is something to read. @returns bytes taken */
  virtual size_t sendQuiet(const uint8_t* bytes, size_t length) = 0;
  /** A socket has sent bytes, which are at the start of the slab; none: it has ended. The line took `sent` of a question. */
  virtual void asked(uint32_t id, size_t length, size_t sent) = 0;

 protected:
  ~RelayLine() = default;
};

/** A frame that ends in the checksum of Modbus, which the socket does not get, and what goes before it. */
struct ExpectedFrame {
  std::vector<uint8_t> head;
  std::vector<uint8_t> begins;
  size_t length = 0;
};

using RelaySocket = SocketCopy<Relay>;

class Relay {
 public:
  explicit Relay(RelayLine* line) : line(line) {}

  /** Where bytes of sockets are put. */
  void begin(uv_loop_t* ownLoop, uint8_t* ownSlab);

  /** Takes a copy of the descriptor, which is not read at first. */
  Failure join(int fd, uint32_t* id);
  /** An id that left has no effect, here and below. */
  void leave(uint32_t id);
  void read(uint32_t id, bool isRead);
  void expect(uint32_t id, ExpectedFrame frame);
  /** The next bytes of that socket may go to the line if they are one read of this unit, and not before that time. */
  void admit(uint32_t id, uint8_t unit, double notBeforeUs);
  /** Nothing passes by itself any more. */
  void end() { isExpecting = isAdmitting = false; }
  /** Takes what was read at once. @returns how many bytes the socket took, the head among them; 0: it is not the frame */
  size_t pass(const uint8_t* bytes, size_t length);
  /** All sockets leave. */
  void stop();

 private:
  static void onSocket(uv_poll_t* handle, int status, int events);
  bool isExpected(const uint8_t* bytes, size_t length) const;
  size_t sendOn(const RelaySocket* socket, const uint8_t* bytes, size_t length);

  RelayLine* line;
  uv_loop_t* loop = nullptr;
  uint8_t* slab = nullptr;
  SocketCopies<RelaySocket> sockets;
  bool isExpecting = false;
  uint32_t to = 0;
  ExpectedFrame frame;
  bool isAdmitting = false;
  uint32_t from = 0;
  uint8_t admittedUnit = 0;
  double notBeforeUs = 0;
  /** When the last question had been sent, by whomever. */
  double askedUs = 0;
  /** The line answered the question before at once: what is expected or admitted now is waited for awake. */
  bool isQuick = false;
  Linger awake;
};
