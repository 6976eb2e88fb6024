/** Calls that may block for ever (TCSBRK as drain, TIOCMIWAIT), each on a thread of its own that closing can end. */
#pragma once

#include <node_api.h>
#include <pthread.h>

#include <atomic>
#include <list>
#include <mutex>
#include <string>

class BlockingCalls;

/** One call under way; who starts it says what, on which descriptor, and the path that an error names. */
struct BlockingCall {
  const char* name = nullptr;
  unsigned long request = 0;
  unsigned long argument = 0;
  int fd = -1;
  std::string path;
  int err = 0;
  pthread_t thread = {};
  std::atomic<bool> isDone{false};
  std::atomic<bool>* isCancelled = nullptr;
  napi_deferred deferred = nullptr;
  /** Keeps the port, and so the list of its calls. */
  napi_ref portRef = nullptr;
  napi_threadsafe_function finish = nullptr;
  BlockingCalls* list = nullptr;
};

/** The calls of one port. */
class BlockingCalls {
 public:
  /** Main thread. Promise of undefined, or an error naming the call. */
  napi_value start(napi_env env, napi_value portValue, BlockingCall* call);
  /** Any thread: wakes every call by a signal and returns once none is inside the kernel. */
  void endAll();
  /** Main thread. */
  void forget(BlockingCall* call);

 private:
  std::mutex mutex;
  std::list<BlockingCall*> calls;
  std::atomic<bool> isCancelled{false};
};
