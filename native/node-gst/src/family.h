/** A family of calls: each has one .cc file of them, and one function that puts them into the addon's exports. */
#pragma once

#include <node_api.h>

#include <string>

#define CALL(name, function) \
  { name, nullptr, function, nullptr, nullptr, nullptr, napi_default, nullptr }

/** The arguments of one call; those not given are undefined. */
struct Arguments {
  static constexpr size_t MOST = 8;
  napi_value at[MOST];

  Arguments(napi_env env, napi_callback_info info) {
    size_t count = MOST;
    napi_get_cb_info(env, info, &count, at, nullptr, nullptr);
  }
  napi_value operator[](size_t index) const { return at[index]; }
};

/** Throws an Error with a code that is no errno; returns null for `return throwCoded(...)`. */
inline napi_value throwCoded(napi_env env, const std::string& code, const std::string& sentence) {
  napi_throw_error(env, code.c_str(), sentence.c_str());
  return nullptr;
}

template <size_t COUNT>
void addCalls(napi_env env, napi_value exports, const napi_property_descriptor (&calls)[COUNT]) {
  napi_define_properties(env, exports, COUNT, calls);
}

void addStartCalls(napi_env env, napi_value exports);
void addClockCalls(napi_env env, napi_value exports);
void addPipelineCalls(napi_env env, napi_value exports);
void addAppCalls(napi_env env, napi_value exports);
void addSenderCalls(napi_env env, napi_value exports);
void addReceiverCalls(napi_env env, napi_value exports);
