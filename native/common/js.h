/** Short ways to read JavaScript values. */
#pragma once

#include <node_api.h>

#include <string>

inline napi_value namedOf(napi_env env, napi_value object, const char* name) {
  napi_value value = nullptr;
  napi_get_named_property(env, object, name, &value);
  return value;
}

inline double numberOf(napi_env env, napi_value value) {
  double number = 0;
  napi_get_value_double(env, value, &number);
  return number;
}

inline bool boolOf(napi_env env, napi_value value) {
  bool flag = false;
  napi_get_value_bool(env, value, &flag);
  return flag;
}

inline std::string textOf(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return "";
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

inline napi_value jsNumber(napi_env env, double number) {
  napi_value value;
  napi_create_double(env, number, &value);
  return value;
}

inline napi_value jsUndefined(napi_env env) {
  napi_value value;
  napi_get_undefined(env, &value);
  return value;
}
