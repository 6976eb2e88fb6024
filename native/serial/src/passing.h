/**
 * Passes bytes between a terminal and connected sockets within the event loop. JavaScript hears of them later, in
 * batches of notes with the stamp of each read; what a non-blocking write did not take is left to it at once.
 */
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "failure.h"
#include "linger.h"
#include "socket-copies.h"

class Passing;

/** The terminal as passing needs it; a Port is one. */
class PassingLine {
 public:
  /** Where what sockets send is written. */
  virtual int descriptor() const = 0;
  /** It is open and nobody is closing it. */
  virtual bool isUsable() const = 0;
  /** Tells JavaScript that there are notes to take. It may close the line meanwhile. */
  virtual void tellPassed() = 0;
  /** Bytes were written to it: what comes next may be the answer. */
  virtual void wrote() = 0;

 protected:
  ~PassingLine() = default;
};

/** Kinds of note; NOTE in channel.ts. */
enum class Note {
  /** The line sent `length` bytes. */
  fromLine = 0,
  /** A socket sent `length` bytes, of which the terminal took the first `value`. */
  fromSocket = 1,
  /**
   * A socket did not take the last `value` bytes of the line's note before; with a stamp of 1 it took the first half of a
   * doubled FF among them. Nothing more goes to it from here.
   */
  behind = 2,
  /** A socket ended (`value` 0) or failed (errno) and was let go. */
  ended = 3,
};

/**
 * What of a socket's bytes goes to the terminal from here; READS in addon.ts: all, Telnet's data up to the first command (a
 * doubled FF is one), or none. What does not is left to JavaScript.
 */
enum class Reads { all = 0, untilCommand = 1, none = 2 };

/**
 * Whether a socket is read; FLOW in addon.ts: it is, it is not but its end is seen, or nothing of it is. The end of one
 * that is at rest is told with its bytes unread.
 */
enum class Flow { reading = 0, resting = 1, stopped = 2 };

struct PassedSocket : SocketCopy<Passing> {
  Flow flow = Flow::reading;
  bool isDirect = true;
  Reads reads = Reads::all;
  /** Each FF goes to it twice. */
  bool isTelnet = false;
};

class Passing {
 public:
  /** Doubles of a note: kind, socket, length, value, stamp in microseconds. */
  static constexpr size_t kNoteSize = 5;

  explicit Passing(PassingLine* line) : line(line) {}

  /** Where bytes and notes are put; both belong to JavaScript and outlive the polling. */
  void begin(uv_loop_t* loop, uint8_t* slab, size_t slabSize);
  void useNotes(double* notes, size_t slots, uint64_t tellMs);

  /** Takes a copy of the descriptor. Line bytes go to it, and its bytes to the line, from now on. */
  Failure join(int fd, uint32_t* id);
  void leave(uint32_t id);
  void setFlow(uint32_t id, Flow flow);
  void setDirect(uint32_t id, bool isDirect);
  void steer(uint32_t id, Reads reads, bool isTelnet);
  /** While held, what sockets send is left to JavaScript: its own writes are not all taken yet. */
  void setHeld(bool held) { isHeld = held; }
  /** Most bytes of one read of a socket: what the line does not take of it is kept by JavaScript. */
  void limitReads(size_t most) { readMost = most; }
  /** Notes since the last call; their bytes lie one after another in the slab until the next event. */
  size_t take();
  /** All sockets are let go; nothing is told any more. */
  void stop();

  bool isActive() const { return sockets.size() > 0 || noteCount > 0; }
  /** Tells what waits where little room is left. @returns whether one more read has room */
  bool makeRoom();
  uint8_t* end() const { return slab + used; }
  size_t room() const { return slabSize - used; }
  /** Hands on what was just read to `end()`. */
  void fromLine(size_t length, double atUs);
  /** An event now, if there is anything to tell. */
  void tell();

 private:
  static void onSocket(uv_poll_t* handle, int status, int events);
  static void onTimer(uv_timer_t* handle);
  void watch(PassedSocket* socket);
  void fromSocket(PassedSocket* socket, int status);
  void hungUp(PassedSocket* socket, int status);
  size_t takeFrom(PassedSocket* socket, const uint8_t* bytes, size_t length);
  size_t sendTo(PassedSocket* socket, const uint8_t* bytes, size_t length, int* err, bool* isHalf);
  void note(Note kind, uint32_t id, size_t length, double value, double atUs);
  void tellInTime(bool isUrgent);
  void end(PassedSocket* socket, int err);
  void linger(bool isFromLine, double atUs);

  PassingLine* line;
  uv_loop_t* loop = nullptr;
  uv_timer_t* timer = nullptr;
  SocketCopies<PassedSocket> sockets;
  uint8_t* slab = nullptr;
  size_t slabSize = 0;
  size_t used = 0;
  double* notes = nullptr;
  size_t noteSlots = 0;
  /** Data as it is on the other side of Telnet; kept for its room. */
  std::vector<uint8_t> turned;
  size_t noteCount = 0;
  uint64_t tellMs = 0;
  bool isHeld = false;
  size_t readMost = SIZE_MAX;
  Linger awake;
  double lastUs = 0;
  bool wasFromLine = false;
  int quickInRow = 0;
};
