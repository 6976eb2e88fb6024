/** What JavaScript sees: listen, uevents, ask, keepAlive, and the methods of a held descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "ask.h"
#include "held.h"
#include "job.h"
#include "js.h"
#include "listening.h"
#include "tcp.h"
#include "uevents.h"

#define METHOD(name, function) \
  { name, nullptr, function, nullptr, nullptr, nullptr, napi_default, nullptr }

/** A call of a method: its object and its arguments. */
struct Call {
  Held* held = nullptr;
  napi_value self = nullptr;
  napi_value args[5] = {};
};

static Call callOf(napi_env env, napi_callback_info info) {
  Call call;
  size_t count = 5;
  napi_get_cb_info(env, info, &count, call.args, &call.self, nullptr);
  napi_unwrap(env, call.self, reinterpret_cast<void**>(&call.held));
  return call;
}

static napi_value thrown(napi_env env, const Failure& failure) { return throwFailure(env, failure, ""); }

static napi_value jsText(napi_env env, const std::string& text) {
  napi_value value;
  napi_create_string_utf8(env, text.c_str(), text.size(), &value);
  return value;
}

static int intOf(napi_env env, napi_value value) { return static_cast<int>(numberOf(env, value)); }

static void* bytesOf(napi_env env, napi_value array, size_t* length) {
  void* data = nullptr;
  napi_get_typedarray_info(env, array, nullptr, length, &data, nullptr, nullptr);
  return data;
}

/** A new object of JavaScript's that owns the descriptor. */
static napi_value holdOf(napi_env env, int fd) {
  napi_value constructor, object;
  void* constructorRef = nullptr;
  napi_get_instance_data(env, &constructorRef);
  napi_get_reference_value(env, static_cast<napi_ref>(constructorRef), &constructor);
  napi_new_instance(env, constructor, 0, nullptr, &object);
  Held* held = nullptr;
  napi_unwrap(env, object, reinterpret_cast<void**>(&held));
  held->adopt(fd);
  return object;
}

/** [held, address, port] */
static napi_value jsOpened(napi_env env, const Opened& opened) {
  napi_value list;
  napi_create_array(env, &list);
  napi_set_element(env, list, 0, holdOf(env, opened.fd));
  napi_set_element(env, list, 1, jsText(env, opened.address));
  napi_set_element(env, list, 2, jsNumber(env, opened.port));
  return list;
}

/** listen(address, port, backlog): [held, address, port] */
static napi_value Listen(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Opened opened;
  Failure failure =
      openListener(textOf(env, call.args[0]), intOf(env, call.args[1]), intOf(env, call.args[2]), &opened);
  return failure.failed() ? thrown(env, failure) : jsOpened(env, opened);
}

/** accept(): [held, address, port], undefined where nobody waits */
static napi_value Accept(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Opened opened;
  if (call.held->fd < 0) return thrown(env, failedCall("accept4", ECANCELED));
  Failure failure = acceptNext(call.held->fd, &opened);
  if (failure.failed()) return thrown(env, failure);
  return opened.fd < 0 ? jsUndefined(env) : jsOpened(env, opened);
}

/** uevents(bufferBytes): held */
static napi_value Uevents(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  int fd = -1;
  Failure failure = openUevents(intOf(env, call.args[0]), &fd);
  return failure.failed() ? thrown(env, failure) : holdOf(env, fd);
}

/** nextUevent(slab): bytes put at its start, undefined where none waits */
static napi_value NextUevent(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  if (call.held->fd < 0) return thrown(env, failedCall("recvmsg", ECANCELED));
  size_t size = 0;
  void* slab = bytesOf(env, call.args[0], &size);
  ssize_t length = -1;
  Failure failure = nextUevent(call.held->fd, slab, size, &length);
  if (failure.failed()) return thrown(env, failure);
  return length < 0 ? jsUndefined(env) : jsNumber(env, static_cast<double>(length));
}

/** watch(events, onEvent): bits 1 readable, 4 disconnect, as libuv has them */
static napi_value Watch(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Failure failure = call.held->watch(intOf(env, call.args[0]), call.self, call.args[1]);
  return failure.failed() ? thrown(env, failure) : jsUndefined(env);
}

/** read(slab): bytes put at its start, 0 at the end, undefined where none are there */
static napi_value Read(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  if (call.held->fd < 0) return thrown(env, failedCall("recv", ECANCELED));
  size_t size = 0;
  void* slab = bytesOf(env, call.args[0], &size);
  ssize_t n = recv(call.held->fd, slab, size, MSG_DONTWAIT);
  if (n >= 0) return jsNumber(env, static_cast<double>(n));
  return errno == EAGAIN || errno == EINTR ? jsUndefined(env) : thrown(env, failedCall("recv", errno));
}

/** write(bytes): how many were taken */
static napi_value Write(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  if (call.held->fd < 0) return thrown(env, failedCall("send", ECANCELED));
  size_t length = 0;
  void* bytes = bytesOf(env, call.args[0], &length);
  ssize_t n = send(call.held->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return jsNumber(env, static_cast<double>(n));
  return errno == EAGAIN || errno == EINTR ? jsNumber(env, 0) : thrown(env, failedCall("send", errno));
}

/** shutdown(how): 1 for writing, 2 for both. A connection that has ended already is not told of. */
static napi_value Shutdown(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  if (call.held->fd >= 0) shutdown(call.held->fd, intOf(env, call.args[0]));
  return jsUndefined(env);
}

/** tcpCounts(): [state, bytesReceived, bytesAcked] */
static napi_value Counts(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  TcpCounts counts;
  Failure failure =
      call.held->fd < 0 ? failedCall("TCP_INFO", ECANCELED) : readTcpCounts(call.held->fd, &counts);
  if (failure.failed()) return thrown(env, failure);
  napi_value list;
  napi_create_array(env, &list);
  for (uint32_t i = 0; i < counts.size(); i++) napi_set_element(env, list, i, jsNumber(env, counts[i]));
  return list;
}

static napi_value Close(napi_env env, napi_callback_info info) {
  callOf(env, info).held->close();
  return jsUndefined(env);
}

static napi_value GetFd(napi_env env, napi_callback_info info) { return jsNumber(env, callOf(env, info).held->fd); }

/** keepAlive(fd, idleS, intervalS, count, userTimeoutMs) */
static napi_value KeepAlive(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Patience patience = {intOf(env, call.args[1]), intOf(env, call.args[2]), intOf(env, call.args[3]),
                       intOf(env, call.args[4])};
  Failure failure = setPatience(intOf(env, call.args[0]), patience);
  return failure.failed() ? thrown(env, failure) : jsUndefined(env);
}

/** noDelay(fd) */
static napi_value NoDelay(napi_env env, napi_callback_info info) {
  Failure failure = setNoDelay(intOf(env, callOf(env, info).args[0]));
  return failure.failed() ? thrown(env, failure) : jsUndefined(env);
}

/** ask(path, line, fd, timeoutMs, mostBytes): promise of the answer. A copy of the descriptor is taken at once; -1: none. */
static napi_value Ask(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  auto question = std::make_shared<Question>();
  auto answer = std::make_shared<std::string>();
  question->path = textOf(env, call.args[0]);
  question->line = textOf(env, call.args[1]);
  question->timeoutMs = intOf(env, call.args[3]);
  question->mostBytes = static_cast<size_t>(numberOf(env, call.args[4]));
  int given = intOf(env, call.args[2]);
  if (given >= 0) {
    int copy = fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return throwFailure(env, failedCall("fcntl", errno), question->path);
    question->fd = copy;
  }
  Job job;
  job.name = "ask";
  job.path = question->path;
  job.work = [question, answer] {
    Failure failure = ask(*question, answer.get());
    if (question->fd >= 0) ::close(question->fd);
    return failure;
  };
  job.result = [answer](napi_env env) { return jsText(env, *answer); };
  return startJob(env, nullptr, std::move(job));
}

static napi_value Construct(napi_env env, napi_callback_info info) {
  napi_value self;
  napi_get_cb_info(env, info, nullptr, nullptr, &self, nullptr);
  napi_wrap(
      env, self, new Held(env), [](napi_env, void* data, void*) { delete static_cast<Held*>(data); }, nullptr, nullptr);
  return self;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor methods[] = {
      METHOD("accept", Accept),     METHOD("nextUevent", NextUevent),
      METHOD("watch", Watch),       METHOD("read", Read),
      METHOD("write", Write),       METHOD("shutdown", Shutdown),
      METHOD("tcpCounts", Counts),  METHOD("close", Close),
      {"fd", nullptr, nullptr, GetFd, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_value constructor;
  napi_define_class(env, "Held", NAPI_AUTO_LENGTH, Construct, nullptr, sizeof methods / sizeof methods[0], methods,
                    &constructor);
  napi_ref constructorRef;
  napi_create_reference(env, constructor, 1, &constructorRef);
  napi_set_instance_data(env, constructorRef, nullptr, nullptr);
  const napi_property_descriptor functions[] = {
      METHOD("listen", Listen), METHOD("uevents", Uevents), METHOD("ask", Ask),
      METHOD("keepAlive", KeepAlive), METHOD("noDelay", NoDelay),
  };
  napi_define_properties(env, exports, sizeof functions / sizeof functions[0], functions);
  return exports;
}
