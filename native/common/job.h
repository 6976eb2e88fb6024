/** Short ioctls that may sleep (a USB converter answers by control transfers), run on libuv's thread pool. */
#pragma once

#include <node_api.h>

#include <functional>
#include <string>

#include "failure.h"

/** One promise. `work` runs on the pool; `result` makes the value on the main thread, undefined where it is empty. */
struct Job {
  const char* name = nullptr;
  std::string path;
  std::function<Failure()> work;
  std::function<napi_value(napi_env)> result;
};

/** Starts it; `keep` (may be null) stays referenced until it is done. */
napi_value startJob(napi_env env, napi_value keep, Job job);
