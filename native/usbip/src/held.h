/** The object that owns one descriptor, and tells JavaScript once when something happens to it. */
#pragma once

#include <node_api.h>
#include <uv.h>

#include "failure.h"

struct Watcher;

class Held {
 public:
  explicit Held(napi_env env) : env(env) {}
  ~Held();

  /** Takes the descriptor. */
  void adopt(int ownFd) { fd = ownFd; }

  /**
   * Calls `onEvent()` once, at the first of `events` (UV_READABLE, UV_DISCONNECT) or when the descriptor failed; a call
   * before that replaces what was asked for. While it watches, `self` is kept.
   */
  Failure watch(int events, napi_value self, napi_value onEvent);
  /** Main thread: nothing is told any more. Twice is once. */
  void close();

  napi_env env;
  /** -1 once closed. */
  int fd = -1;

 private:
  static void onPoll(uv_poll_t* handle, int status, int events);
  Failure beginWatching();
  void rest();

  Watcher* watcher = nullptr;
  napi_ref selfRef = nullptr;
  napi_ref onEventRef = nullptr;
};
