/** What JavaScript sees of passing bytes between a terminal and sockets. */
#include "passing-calls.h"

#include <errno.h>

#include "call.h"

/** beginPassing(notes, tellMs) */
static napi_value BeginPassing(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, call.args[0], nullptr, &length, &data, nullptr, nullptr);
  uint64_t tellMs = static_cast<uint64_t>(numberOf(env, call.args[1]));
  call.port->passing.useNotes(static_cast<double*>(data), length / Passing::kNoteSize, tellMs);
  return jsUndefined(env);
}

/** join(fd) -> id */
static napi_value Join(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  uint32_t id = 0;
  Failure failure = call.port->passing.join(static_cast<int>(numberOf(env, call.args[0])), &id);
  return failure.failed() ? throwFailure(env, failure, call.port->path()) : jsNumber(env, id);
}

static uint32_t idOf(napi_env env, const Call& call) { return static_cast<uint32_t>(numberOf(env, call.args[0])); }

static napi_value Leave(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->passing.leave(idOf(env, call));
  return jsUndefined(env);
}

/** setFlow(id, flow) */
static napi_value SetFlow(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Flow flow = static_cast<Flow>(static_cast<int>(numberOf(env, call.args[1])));
  call.port->passing.setFlow(idOf(env, call), flow);
  return jsUndefined(env);
}

static napi_value LimitReads(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->passing.limitReads(static_cast<size_t>(numberOf(env, call.args[0])));
  return jsUndefined(env);
}

/** setDirect(id, isDirect) */
static napi_value SetDirect(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->passing.setDirect(idOf(env, call), boolOf(env, call.args[1]));
  return jsUndefined(env);
}

/** steer(id, reads, isTelnet) */
static napi_value Steer(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  Reads reads = static_cast<Reads>(static_cast<int>(numberOf(env, call.args[1])));
  call.port->passing.steer(idOf(env, call), reads, boolOf(env, call.args[2]));
  return jsUndefined(env);
}

static std::vector<uint8_t> bytesOf(napi_env env, napi_value array) {
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, array, nullptr, &length, &data, nullptr, nullptr);
  return std::vector<uint8_t>(static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + length);
}

/** relayTo(fd) -> id */
static napi_value RelayTo(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  uint32_t id = 0;
  const int fd = static_cast<int>(numberOf(env, call.args[0]));
  Failure failure = call.port->isClosing() ? failedCall("fcntl", ECANCELED) : call.port->relay.join(fd, &id);
  return failure.failed() ? throwFailure(env, failure, call.port->path()) : jsNumber(env, id);
}

static napi_value LeaveRelay(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->relay.leave(idOf(env, call));
  return jsUndefined(env);
}

/** expect(id, head, begins, length) */
static napi_value Expect(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  const size_t length = static_cast<size_t>(numberOf(env, call.args[3]));
  call.port->relay.expect(idOf(env, call), {bytesOf(env, call.args[1]), bytesOf(env, call.args[2]), length});
  return jsUndefined(env);
}

/** readRelay(id, isRead) */
static napi_value ReadRelay(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->relay.read(idOf(env, call), boolOf(env, call.args[1]));
  return jsUndefined(env);
}

/** admit(id, unit, notBeforeUs) */
static napi_value Admit(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  const uint8_t unit = static_cast<uint8_t>(numberOf(env, call.args[1]));
  call.port->relay.admit(idOf(env, call), unit, numberOf(env, call.args[2]));
  return jsUndefined(env);
}

static napi_value EndRelay(napi_env env, napi_callback_info info) {
  callOf(env, info).port->relay.end();
  return jsUndefined(env);
}

static napi_value HoldPassing(napi_env env, napi_callback_info info) {
  Call call = callOf(env, info);
  call.port->passing.setHeld(boolOf(env, call.args[0]));
  return jsUndefined(env);
}

static napi_value TakePassed(napi_env env, napi_callback_info info) {
  return jsNumber(env, static_cast<double>(callOf(env, info).port->passing.take()));
}

std::vector<napi_property_descriptor> passingCalls() {
  return {
      METHOD("beginPassing", BeginPassing),
      METHOD("join", Join),
      METHOD("leave", Leave),
      METHOD("setFlow", SetFlow), METHOD("limitReads", LimitReads),
      METHOD("setDirect", SetDirect),
      METHOD("steer", Steer),
      METHOD("relayTo", RelayTo),
      METHOD("leaveRelay", LeaveRelay),
      METHOD("expect", Expect),
      METHOD("readRelay", ReadRelay),
      METHOD("admit", Admit),
      METHOD("endRelay", EndRelay),
      METHOD("holdPassing", HoldPassing),
      METHOD("takePassed", TakePassed),
  };
}
