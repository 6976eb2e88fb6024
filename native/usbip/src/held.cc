/** Watches a descriptor on the event loop, without the thread pool. */
#include "held.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

/** What may go only once libuv has let go of its handle: we may be inside its callback. */
struct Watcher {
  uv_poll_t poll;
  /** null once the descriptor is closed */
  Held* held;
  napi_env env;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
};

/** The environment ends (process exit, worker stopped) while the descriptor is open. */
static void onEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data) {
  if (Held* held = static_cast<Watcher*>(data)->held) held->close();
}

static void onPollClosed(uv_handle_t* handle) {
  Watcher* watcher = static_cast<Watcher*>(handle->data);
  napi_async_destroy(watcher->env, watcher->context);
  napi_remove_async_cleanup_hook(watcher->cleanup);
  delete watcher;
}

Held::~Held() { close(); }

Failure Held::beginWatching() {
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  watcher = new Watcher{{}, this, env, nullptr, nullptr};
  int status = uv_poll_init(loop, &watcher->poll, fd);
  if (status < 0) {
    delete std::exchange(watcher, nullptr);
    return failedCall("epoll_ctl", -status);
  }
  watcher->poll.data = watcher;
  napi_value name;
  napi_create_string_utf8(env, "plantroom:usbip", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, nullptr, name, &watcher->context);
  napi_add_async_cleanup_hook(env, onEnvironmentEnd, watcher, &watcher->cleanup);
  return Failure{};
}

Failure Held::watch(int events, napi_value self, napi_value onEvent) {
  if (fd < 0) return failedCall("epoll_ctl", ECANCELED);
  Failure failure = watcher == nullptr ? beginWatching() : Failure{};
  if (failure.failed()) return failure;
  rest();
  int status = uv_poll_start(&watcher->poll, events, onPoll);
  if (status < 0) return failedCall("epoll_ctl", -status);
  napi_create_reference(env, self, 1, &selfRef);
  napi_create_reference(env, onEvent, 1, &onEventRef);
  return Failure{};
}

/** Nothing is watched for, and JavaScript's objects may go. */
void Held::rest() {
  if (watcher != nullptr) uv_poll_stop(&watcher->poll);
  if (onEventRef != nullptr) napi_delete_reference(env, std::exchange(onEventRef, nullptr));
  if (selfRef != nullptr) napi_delete_reference(env, std::exchange(selfRef, nullptr));
}

void Held::onPoll(uv_poll_t* handle, int status, int events) {
  Watcher* watcher = static_cast<Watcher*>(handle->data);
  Held* held = watcher->held;
  if (held == nullptr || held->onEventRef == nullptr) return;
  napi_env env = held->env;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  napi_value onEvent, receiver, result;
  napi_get_reference_value(env, held->onEventRef, &onEvent);
  napi_get_reference_value(env, held->selfRef, &receiver);
  // Level-triggered: what JavaScript does not take at once would be told again and again.
  held->rest();
  if (napi_make_callback(env, watcher->context, receiver, onEvent, 0, nullptr, &result) == napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    napi_fatal_exception(env, error);
  }
  napi_close_handle_scope(env, scope);
}

void Held::close() {
  rest();
  if (watcher != nullptr) {
    watcher->held = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(&std::exchange(watcher, nullptr)->poll), onPollClosed);
  }
  if (fd >= 0) ::close(std::exchange(fd, -1));
}
