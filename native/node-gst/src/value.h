/** Plain values on their way from GStreamer's threads to JavaScript. */
#pragma once

#include <glib-object.h>
#include <node_api.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

/**
 * What a GValue says, copied. 64-bit integers become bigint in JavaScript whatever their size, so that a field has one
 * type; what has no plain form (caps, fractions, flags) becomes GStreamer's text of it.
 */
struct Value {
  using List = std::vector<Value>;
  using Fields = std::vector<std::pair<std::string, Value>>;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Fields> is;
};

/** Any thread. */
Value valueOf(const GValue* value);

/** Main thread. Nothing becomes null. */
napi_value jsValue(napi_env env, const Value& value);

/** Main thread. */
napi_value jsString(napi_env env, const std::string& text);
