/** A timerfd beside the event loop. */
#include "wake.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "clock.h"

// The longest that is waited for here, where a core does nothing else.
static const double kMostLateUs = 100;
// After a wake that was in time for once, by how much more each later one is asked sooner again.
static const double kLaterByUs = 1;

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
  const double nowAtUs = nowUs();
  dueUs = nowAtUs + static_cast<double>(us);
  const uint64_t soonerUs = static_cast<uint64_t>(lateUs);
  // A time of 0 would turn it off.
  us = us > soonerUs ? us - soonerUs : 1;
  askedUs = nowAtUs + static_cast<double>(us);
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
  wake->lateUs = std::clamp(nowUs() - wake->askedUs, 0.0, std::min(kMostLateUs, wake->lateUs + kLaterByUs));
  while (nowUs() < wake->dueUs) {
  }
  wake->due(wake->owner);
}
