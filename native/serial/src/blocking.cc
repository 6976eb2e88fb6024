/** Runs blocking ioctls on threads of their own and wakes them by a signal when the port closes. */
#include "blocking.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include "failure.h"
#include "js.h"

/** Real-time signal whose handler does nothing: the ioctl answers EINTR because SA_RESTART is not set. */
static int wakeSignal() {
  static const int number = [] {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGRTMIN + 6, &action, nullptr);
    return SIGRTMIN + 6;
  }();
  return number;
}

static void* run(void* data) {
  BlockingCall* call = static_cast<BlockingCall*>(data);
  int err = ECANCELED;
  while (!*call->isCancelled) {
    err = ioctl(call->fd, call->request, call->argument) < 0 ? errno : 0;
    if (err != EINTR) break;
    err = ECANCELED;
  }
  call->err = err;
  napi_threadsafe_function finish = call->finish;
  call->isDone = true;
  // `call` may be gone from here on.
  napi_call_threadsafe_function(finish, call, napi_tsfn_nonblocking);
  napi_release_threadsafe_function(finish, napi_tsfn_release);
  return nullptr;
}

static void settle(napi_env env, napi_value function, void* context, void* data) {
  BlockingCall* call = static_cast<BlockingCall*>(data);
  if (env != nullptr) {
    call->list->forget(call);
    if (call->err == 0)
      napi_resolve_deferred(env, call->deferred, jsUndefined(env));
    else
      napi_reject_deferred(env, call->deferred, errorOf(env, failedCall(call->name, call->err), call->path));
    napi_delete_reference(env, call->portRef);
  }
  pthread_join(call->thread, nullptr);
  delete call;
}

napi_value BlockingCalls::start(napi_env env, napi_value portValue, BlockingCall* call) {
  wakeSignal();
  napi_value promise, name;
  napi_create_promise(env, &call->deferred, &promise);
  napi_create_reference(env, portValue, 1, &call->portRef);
  napi_create_string_utf8(env, call->name, NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &call->finish);
  call->list = this;
  call->isCancelled = &isCancelled;
  std::lock_guard<std::mutex> guard(mutex);
  calls.push_back(call);
  int err = pthread_create(&call->thread, nullptr, run, call);
  if (err != 0) {
    calls.remove(call);
    napi_release_threadsafe_function(call->finish, napi_tsfn_abort);
    napi_reject_deferred(env, call->deferred, errorOf(env, failedCall("pthread_create", err), call->path));
    napi_delete_reference(env, call->portRef);
    delete call;
  }
  return promise;
}

void BlockingCalls::endAll() {
  isCancelled = true;
  for (;;) {
    bool isAnyLeft = false;
    {
      std::lock_guard<std::mutex> guard(mutex);
      for (BlockingCall* call : calls) {
        if (call->isDone) continue;
        isAnyLeft = true;
        pthread_kill(call->thread, wakeSignal());
      }
    }
    if (!isAnyLeft) return;
    // The signal may have come just before the ioctl went to sleep: send it again until the thread is out.
    struct timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

void BlockingCalls::forget(BlockingCall* call) {
  std::lock_guard<std::mutex> guard(mutex);
  calls.remove(call);
}
