/** Turns failed system calls into Error objects. */
#include "failure.h"

#include <string.h>
#include <uv.h>

static void setText(napi_env env, napi_value object, const char* name, const std::string& text) {
  napi_value value;
  napi_create_string_utf8(env, text.c_str(), text.size(), &value);
  napi_set_named_property(env, object, name, value);
}

static void setNumber(napi_env env, napi_value object, const char* name, int number) {
  napi_value value;
  napi_create_int32(env, number, &value);
  napi_set_named_property(env, object, name, value);
}

static std::string sentenceOf(const Failure& failure, const std::string& path) {
  std::string where = path.empty() ? "" : " on " + path;
  if (!failure.field.empty())
    return "driver changed " + failure.field + where + ": wanted " + failure.wanted + ", reads back " + failure.got;
  return std::string(failure.call) + where + " failed: " + strerror(failure.err) + " (errno " +
         std::to_string(failure.err) + ")";
}

Failure failedCall(const char* call, int err) {
  Failure failure;
  failure.call = call;
  failure.err = err;
  return failure;
}

napi_value errorOf(napi_env env, const Failure& failure, const std::string& path) {
  std::string sentence = sentenceOf(failure, path);
  const char* name = failure.err == 0 ? "ECHANGED" : uv_err_name(-failure.err);
  napi_value code, message, error;
  napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &code);
  napi_create_string_utf8(env, sentence.c_str(), sentence.size(), &message);
  napi_create_error(env, code, message, &error);
  setNumber(env, error, "errno", failure.err);
  setText(env, error, "syscall", failure.call);
  if (!path.empty()) setText(env, error, "path", path);
  if (failure.holder > 0) setNumber(env, error, "holder", failure.holder);
  if (!failure.field.empty()) {
    setText(env, error, "field", failure.field);
    setText(env, error, "wanted", failure.wanted);
    setText(env, error, "got", failure.got);
  }
  return error;
}

napi_value throwFailure(napi_env env, const Failure& failure, const std::string& path) {
  napi_throw(env, errorOf(env, failure, path));
  return nullptr;
}
