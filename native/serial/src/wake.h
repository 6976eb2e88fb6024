/**
 * A timer to the microsecond on the event loop, whose own timers count whole milliseconds. The kernel wakes a thread late,
 * hardly ever by less than some tens of microseconds: so it is asked that much sooner, and where it is in time for once the
 * rest is waited for here. Nothing is ever called before its time.
 */
#pragma once

#include <uv.h>

#include <cstdint>

#include "failure.h"

class Wake {
 public:
  using Due = void (*)(void* owner);

  Wake(Due due, void* owner) : due(due), owner(owner) {}

  /** Calls `due` once after that time; takes the place of a call under way. It does not keep the loop alive. */
  Failure in(uv_loop_t* loop, uint64_t us);
  /** Nothing is called any more. */
  void stop();

 private:
  static void onPoll(uv_poll_t* handle, int status, int events);

  Due due;
  void* owner;
  int fd = -1;
  uv_poll_t* poll = nullptr;
  /** When the call under way is due, and when the kernel was asked to wake us for it, by nowUs. */
  double dueUs = 0;
  double askedUs = 0;
  /** By how much the kernel has lately been late at least. */
  double lateUs = 0;
};
