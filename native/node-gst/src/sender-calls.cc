/** Calls of senders. */
#include "sender.h"

#include <string.h>

#include "family.h"
#include "js.h"
#include "shared.h"
#include "value.h"

static int intOf(napi_env env, napi_value object, const char* name) {
  return static_cast<int>(numberOf(env, namedOf(env, object, name)));
}

static SendTarget targetOf(napi_env env, napi_value path) {
  SendTarget target;
  target.group = textOf(env, namedOf(env, path, "group"));
  target.port = intOf(env, path, "port");
  target.interfaceAddress = textOf(env, namedOf(env, path, "interfaceAddress"));
  target.ttl = intOf(env, path, "ttl");
  target.dscp = intOf(env, path, "dscp");
  return target;
}

static SenderOptions optionsOf(napi_env env, napi_value clock, napi_value object) {
  SenderOptions options;
  options.clock = sharedOf<AudioClock>(env, clock);
  napi_value paths = namedOf(env, object, "paths"), path;
  uint32_t count = 0;
  napi_get_array_length(env, paths, &count);
  for (uint32_t i = 0; i < count; i++) {
    napi_get_element(env, paths, i, &path);
    options.targets.push_back(targetOf(env, path));
  }
  options.sampleBytes = intOf(env, object, "sampleBytes");
  options.channels = intOf(env, object, "channels");
  options.framesPerPacket = intOf(env, object, "framesPerPacket");
  options.payloadType = intOf(env, object, "payloadType");
  options.ssrc = static_cast<uint32_t>(numberOf(env, namedOf(env, object, "ssrc")));
  options.mostLateNs = static_cast<int64_t>(numberOf(env, namedOf(env, object, "mostLateMs")) * 1e6);
  return options;
}

/** openSender(clock, options): id */
static napi_value OpenSender(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto sender = std::make_shared<Sender>(optionsOf(env, arguments[0], arguments[1]));
  size_t path = 0;
  Failure failure = sender->open(&path);
  if (failure.failed()) {
    const SendTarget& target = sender->options.targets[path];
    return throwFailure(env, failure,
                        target.group + ":" + std::to_string(target.port) + " from " + target.interfaceAddress);
  }
  return jsValue(env, Value{static_cast<double>(addSender(std::move(sender)))});
}

static uint32_t idOf(napi_env env, napi_value value) { return static_cast<uint32_t>(numberOf(env, value)); }

/** closeSender(id): its sockets close when no pipeline uses it any more */
static napi_value CloseSender(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  removeSender(idOf(env, arguments[0]));
  return nullptr;
}

static Value number(double value) { return Value{value}; }

static Value microseconds(const Quantiles& of) {
  if (of.count == 0) return {};
  return Value{Value::Fields{{"p50", number(of.p50 / 1e3)}, {"p99", number(of.p99 / 1e3)}, {"max", number(of.max / 1e3)}}};
}

static Value pathCounts(const Sender& sender) {
  Value::List list;
  for (const auto& path : sender.paths) {
    int err = path->lastError();
    list.push_back(Value{Value::Fields{{"packets", number(static_cast<double>(path->sentCount()))},
                                       {"errors", number(static_cast<double>(path->failedCount()))},
                                       {"error", err == 0 ? Value{} : Value{std::string(strerror(err))}}}});
  }
  return Value{std::move(list)};
}

/** senderStats(id): see sender.ts */
static napi_value SenderStats(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto sender = senderOf(idOf(env, arguments[0]));
  if (sender == nullptr) return throwCoded(env, "closed", "the sender is closed");
  SenderCounts counts = sender->counts();
  bool hasSent = counts.lastSentNs != 0;
  return jsValue(
      env, Value{Value::Fields{
               {"packets", number(static_cast<double>(counts.packets))},
               {"resyncs", number(static_cast<double>(counts.resyncs))},
               {"nextTimestamp", hasSent ? number(counts.nextTimestamp) : Value{}},
               {"idleMs", hasSent ? number(static_cast<double>(monotonicNow() - counts.lastSentNs) / 1e6) : Value{}},
               {"captureMs", counts.captureNs < 0 ? Value{} : number(static_cast<double>(counts.captureNs) / 1e6)},
               {"lateUs", microseconds(counts.lateNs)},
               {"spacingUs", microseconds(counts.spacingNs)},
               {"paths", pathCounts(*sender)},
           }});
}

void addSenderCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("openSender", OpenSender),
      CALL("closeSender", CloseSender),
      CALL("senderStats", SenderStats),
  };
  addCalls(env, exports, calls);
}
