/**
 * argon2id in a thread of its own for each hash. Node's own runs on libuv's threads, which files and names wait for, and
 * which have the daemon's priority; a Worker takes 11 MB. The hash itself is OpenSSL's, which Node exports to addons.
 */
#include <node_api.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "js.h"

/** Threads that compute. Node ends its environment only when none is left: OpenSSL is taken down after it. */
static std::mutex mutex;
static std::condition_variable done;
static int computing = 0;

struct Hash {
  std::string message;
  std::string nonce;
  uint32_t memory = 0;
  uint32_t passes = 0;
  uint32_t lanes = 0;
  int niceness = 0;
  std::vector<unsigned char> tag;
  /** OpenSSL's reason, empty where the tag is right. */
  std::string fault;
  napi_deferred deferred = nullptr;
  napi_threadsafe_function settled = nullptr;
};

static std::string lastReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "OpenSSL gives no reason" : reason;
}

static void derive(Hash* hash) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "ARGON2ID", nullptr);
  EVP_KDF_CTX* context = kdf == nullptr ? nullptr : EVP_KDF_CTX_new(kdf);
  uint32_t threads = 1;
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, hash->message.data(), hash->message.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, hash->nonce.data(), hash->nonce.size()),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_THREADS, &threads),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_ARGON2_LANES, &hash->lanes),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_ARGON2_MEMCOST, &hash->memory),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_ITER, &hash->passes),
      OSSL_PARAM_construct_end(),
  };
  if (context == nullptr || EVP_KDF_derive(context, hash->tag.data(), hash->tag.size(), parameters) != 1)
    hash->fault = lastReason();
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
}

static void* compute(void* data) {
  Hash* hash = static_cast<Hash*>(data);
  // Linux has a niceness for each thread. Where the system does not allow it, the scheduler shares as it sees fit.
  id_t self = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + hash->niceness);
  derive(hash);
  OPENSSL_cleanse(hash->message.data(), hash->message.size());
  napi_threadsafe_function settled = hash->settled;
  // Refused where the environment ends: nobody waits any more, and the refusal was our release.
  if (napi_call_threadsafe_function(settled, hash, napi_tsfn_blocking) == napi_ok)
    napi_release_threadsafe_function(settled, napi_tsfn_release);
  else
    delete hash;
  std::lock_guard<std::mutex> lock(mutex);
  computing -= 1;
  done.notify_all();
  return nullptr;
}

static void settle(napi_env env, napi_value, void*, void* data) {
  Hash* hash = static_cast<Hash*>(data);
  if (env != nullptr && hash->fault.empty()) {
    void* bytes = nullptr;
    napi_value buffer;
    napi_create_buffer_copy(env, hash->tag.size(), hash->tag.data(), &bytes, &buffer);
    napi_resolve_deferred(env, hash->deferred, buffer);
  } else if (env != nullptr) {
    std::string sentence = "argon2id cannot be computed: " + hash->fault;
    napi_value message, error;
    napi_create_string_utf8(env, sentence.c_str(), NAPI_AUTO_LENGTH, &message);
    napi_create_error(env, nullptr, message, &error);
    napi_reject_deferred(env, hash->deferred, error);
  }
  delete hash;
}

static std::string bytesOf(napi_env env, napi_value value) {
  void* data = nullptr;
  size_t length = 0;
  napi_get_buffer_info(env, value, &data, &length);
  return std::string(static_cast<const char*>(data), length);
}

static uint32_t countOf(napi_env env, napi_value object, const char* name) {
  return static_cast<uint32_t>(numberOf(env, namedOf(env, object, name)));
}

/** derive({ message, nonce, tagLength, memory, passes, parallelism }, niceness): a promise of the tag. */
static napi_value Derive(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value args[2];
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  Hash* hash = new Hash;
  hash->message = bytesOf(env, namedOf(env, args[0], "message"));
  hash->nonce = bytesOf(env, namedOf(env, args[0], "nonce"));
  hash->tag.resize(countOf(env, args[0], "tagLength"));
  hash->memory = countOf(env, args[0], "memory");
  hash->passes = countOf(env, args[0], "passes");
  hash->lanes = countOf(env, args[0], "parallelism");
  hash->niceness = static_cast<int>(numberOf(env, args[1]));
  napi_value promise, name;
  napi_create_promise(env, &hash->deferred, &promise);
  napi_create_string_utf8(env, "argon2id", NAPI_AUTO_LENGTH, &name);
  // While it is referenced the process stays: somebody waits for the hash.
  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &hash->settled);
  std::lock_guard<std::mutex> lock(mutex);
  computing += 1;
  pthread_t thread;
  int err = pthread_create(&thread, nullptr, compute, hash);
  if (err == 0) {
    pthread_detach(thread);
    return promise;
  }
  computing -= 1;
  napi_release_threadsafe_function(hash->settled, napi_tsfn_abort);
  hash->fault = std::string("no thread for it: ") + strerror(err);
  settle(env, nullptr, nullptr, hash);
  return promise;
}

static void waitForThreads(void*) {
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [] { return computing == 0; });
}

NAPI_MODULE_INIT() {
  napi_add_env_cleanup_hook(env, waitForThreads, nullptr);
  napi_value function;
  napi_create_function(env, "derive", NAPI_AUTO_LENGTH, Derive, nullptr, &function);
  napi_set_named_property(env, exports, "derive", function);
  return exports;
}
