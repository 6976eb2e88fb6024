/** A timer to the microsecond on the event loop, whose own timers count whole milliseconds. */
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
};
