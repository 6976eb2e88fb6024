/** What went wrong in a system call, and how JavaScript sees it. */
#pragma once

#include <node_api.h>

#include <string>

/** One failed call. `call` is null while nothing failed; `err` 0 with a `field` means the driver changed a setting. */
struct Failure {
  const char* call = nullptr;
  int err = 0;
  std::string field;
  std::string wanted;
  std::string got;
  /** Process that holds the lock, 0 where unknown. */
  int holder = 0;

  bool failed() const { return call != nullptr; }
};

Failure failedCall(const char* call, int err);

/** An Error with code (EIO, or ECHANGED), errno, syscall, path and, where they apply, field, wanted, got, holder. */
napi_value errorOf(napi_env env, const Failure& failure, const std::string& path);

/** Throws that Error; returns null for `return throwFailure(...)`. */
napi_value throwFailure(napi_env env, const Failure& failure, const std::string& path);
