/**
 * Keeps the event loop awake for a moment when the next event is due at once: a sleeping core takes tens of microseconds to
 * wake. While an idle handle is active, libuv looks for events without sleeping.
 */
#pragma once

#include <uv.h>

#include <utility>

#include "clock.h"

class Linger {
 public:
  /** An answer within this time comes from a program. On a wire, three characters at 115,200 baud take nearly as long. */
  static constexpr double kQuickUs = 300;
  /** The longest that the loop is kept awake for one event. */
  static constexpr double kMostUs = 100;

  void begin(uv_loop_t* loop) {
    idle = new uv_idle_t;
    uv_idle_init(loop, idle);
    idle->data = this;
    uv_unref(reinterpret_cast<uv_handle_t*>(idle));
  }

  /** The loop does not sleep until `kMostUs` after that time. */
  void start(double fromUs) {
    if (idle == nullptr) return;
    untilUs = fromUs + kMostUs;
    uv_idle_start(idle, onIdle);
  }

  void stop() {
    if (idle == nullptr) return;
    idle->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(idle, nullptr)),
             [](uv_handle_t* closed) { delete reinterpret_cast<uv_idle_t*>(closed); });
  }

 private:
  static void onIdle(uv_idle_t* handle) {
    const Linger* linger = static_cast<Linger*>(handle->data);
    if (linger == nullptr || nowUs() >= linger->untilUs) uv_idle_stop(handle);
  }

  uv_idle_t* idle = nullptr;
  double untilUs = 0;
};
