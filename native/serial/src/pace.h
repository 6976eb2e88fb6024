/** When a line that sends on and on is read: every few milliseconds, instead of at every few bytes. */
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>

/**
 * A line in a stream is read at ticks, which all lines of a loop have in common. What comes after a pause is read at
 * once, and so is all of a line on which short questions and answers take turns.
 */
class Pace {
 public:
  /** Reads what is there, and calls `ticked`. */
  using Tick = void (*)(void* owner);

  Pace(Tick tick, void* owner) : tick(tick), owner(owner) {}

  /** @param ms between ticks; 0: every byte is read at once */
  void every(uv_loop_t* loop, uint64_t ms);
  /** So many bytes were read. */
  void read(size_t length, double atUs);
  /** Something was written to the line. */
  void wrote();
  /** What was there at the tick is read. */
  void ticked();
  /** The line is read at once again, until the next stream. */
  void leave();
  /** Bytes that come now wait for the tick. */
  bool isStream() const { return isOn; }
  /** For good. */
  void stop();

 private:
  static void onTimer(uv_timer_t* timer);
  void next();
  double pauseUs() const { return static_cast<double>(everyMs) * 1000; }

  Tick tick;
  void* owner;
  uint64_t everyMs = 0;
  uv_timer_t* timer = nullptr;
  bool isOn = false;
  /** Pieces that followed each other without a pause, fewer by some for each write. */
  int row = 0;
  double readAtUs = 0;
};
