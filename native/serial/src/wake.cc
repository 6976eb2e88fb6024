/** A timerfd beside the event loop. */
#include "wake.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

Failure Wake::in(uv_loop_t* loop, uint64_t us) {
  if (poll == nullptr) {
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0) return failedCall("timerfd_create", errno);
    poll = new uv_poll_t;
    int status = uv_poll_init(loop, poll, fd);
    if (status < 0) {
      delete std::exchange(poll, nullptr);
      ::close(std::exchange(fd, -1));
      return failedCall("epoll_ctl", -status);
    }
    poll->data = this;
    uv_poll_start(poll, UV_READABLE, onPoll);
    uv_unref(reinterpret_cast<uv_handle_t*>(poll));
  }
  struct itimerspec when = {};
  // A time of 0 would turn it off.
  if (us == 0) us = 1;
  when.it_value.tv_sec = static_cast<time_t>(us / 1000000);
  when.it_value.tv_nsec = static_cast<long>(us % 1000000 * 1000);
  if (timerfd_settime(fd, 0, &when, nullptr) < 0) return failedCall("timerfd_settime", errno);
  return {};
}

void Wake::stop() {
  if (poll == nullptr) return;
  uv_poll_t* handle = std::exchange(poll, nullptr);
  handle->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
  ::close(std::exchange(fd, -1));
}

void Wake::onPoll(uv_poll_t* handle, int, int) {
  Wake* wake = static_cast<Wake*>(handle->data);
  if (wake == nullptr) return;
  uint64_t times = 0;
  // Nothing to read: it was set anew since the loop saw it due.
  if (::read(wake->fd, &times, sizeof times) != static_cast<ssize_t>(sizeof times)) return;
  wake->due(wake->owner);
}
