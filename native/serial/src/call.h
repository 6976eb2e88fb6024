/** One call of a port's method from JavaScript. */
#pragma once

#include <node_api.h>

#include "js.h"
#include "port.h"

/** A call's port, its JavaScript object and its first four arguments. */
struct Call {
  Port* port = nullptr;
  napi_value self = nullptr;
  napi_value args[4] = {};
};

inline Call callOf(napi_env env, napi_callback_info info) {
  Call call;
  size_t count = 4;
  napi_get_cb_info(env, info, &count, call.args, &call.self, nullptr);
  napi_unwrap(env, call.self, reinterpret_cast<void**>(&call.port));
  return call;
}

#define METHOD(name, function) \
  { name, nullptr, function, nullptr, nullptr, nullptr, napi_default, nullptr }
