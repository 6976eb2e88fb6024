/** What a process does for itself: sends one datagram to systemd's notification socket, gives free memory back. */
#include <errno.h>
#include <malloc.h>
#include <node_api.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <string>

static std::string textOf(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return "";
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

static napi_value fail(napi_env env, const char* call, int err) {
  napi_value code, message, error, number, name;
  std::string sentence = std::string(call) + " to the notification socket failed: " + strerror(err);
  napi_create_string_utf8(env, uv_err_name(-err), NAPI_AUTO_LENGTH, &code);
  napi_create_string_utf8(env, sentence.c_str(), NAPI_AUTO_LENGTH, &message);
  napi_create_error(env, code, message, &error);
  napi_create_int32(env, err, &number);
  napi_create_string_utf8(env, call, NAPI_AUTO_LENGTH, &name);
  napi_set_named_property(env, error, "errno", number);
  napi_set_named_property(env, error, "syscall", name);
  napi_throw(env, error);
  return nullptr;
}

/** send(socketPath, state): a leading @ means an abstract socket. Throws with errno and syscall. */
static napi_value Send(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value args[2];
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  std::string path = textOf(env, args[0]);
  std::string state = textOf(env, args[1]);
  struct sockaddr_un address = {};
  if (path.size() < 2 || (path[0] != '/' && path[0] != '@')) return fail(env, "connect", EAFNOSUPPORT);
  if (path.size() >= sizeof address.sun_path) return fail(env, "connect", ENAMETOOLONG);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(env, "socket", errno);
  // A full queue at the far end may hold us back this long and no longer.
  struct timeval limit = {0, 100'000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  socklen_t length = static_cast<socklen_t>(offsetof(struct sockaddr_un, sun_path) + path.size());
  const char* call = "connect";
  int err = 0;
  if (connect(fd, reinterpret_cast<struct sockaddr*>(&address), length) < 0) {
    err = errno;
  } else {
    call = "send";
    while (send(fd, state.data(), state.size(), MSG_NOSIGNAL) < 0) {
      err = errno;
      if (err != EINTR) break;
      err = 0;
    }
  }
  close(fd);
  if (err != 0) return fail(env, call, err);
  return nullptr;
}

/** trim(): whether pages were given back. */
static napi_value Trim(napi_env env, napi_callback_info info) {
  napi_value result;
  napi_get_boolean(env, malloc_trim(0) == 1, &result);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "send", NAPI_AUTO_LENGTH, Send, nullptr, &function);
  napi_set_named_property(env, exports, "send", function);
  napi_create_function(env, "trim", NAPI_AUTO_LENGTH, Trim, nullptr, &function);
  napi_set_named_property(env, exports, "trim", function);
  return exports;
}
