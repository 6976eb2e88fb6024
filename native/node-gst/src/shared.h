/** How JavaScript holds a native object: an external value with a share in it, given back when it is collected. */
#pragma once

#include <node_api.h>

#include <memory>
#include <utility>

/** @param T shared; JavaScript's share ends when its value is collected, so what must end earlier has a close of its own */
template <class T>
napi_value jsShared(napi_env env, std::shared_ptr<T> thing) {
  napi_value value;
  napi_create_external(
      env, new std::shared_ptr<T>(std::move(thing)),
      [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); }, nullptr, &value);
  return value;
}

/** The object of such a value. The faces in TypeScript hand back what they were given, so its kind is known. */
template <class T>
std::shared_ptr<T> sharedOf(napi_env env, napi_value value) {
  void* data = nullptr;
  napi_get_value_external(env, value, &data);
  return *static_cast<std::shared_ptr<T>*>(data);
}

/** The same, and JavaScript's share in it ends here: no call may be made with that value any more. */
template <class T>
std::shared_ptr<T> takeShare(napi_env env, napi_value value) {
  void* data = nullptr;
  napi_get_value_external(env, value, &data);
  return std::exchange(*static_cast<std::shared_ptr<T>*>(data), nullptr);
}
