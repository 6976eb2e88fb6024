/** Calls of receivers. */
#include <arpa/inet.h>

#include "audio-time.h"
#include "family.h"
#include "js.h"
#include "receiver.h"
#include "shared.h"
#include "start.h"
#include "value.h"

static int wholeOf(napi_env env, napi_value object, const char* name) {
  return static_cast<int>(numberOf(env, namedOf(env, object, name)));
}

static int64_t nsOf(napi_env env, napi_value value) {
  int64_t ns = 0;
  bool isExact = false;
  napi_get_value_bigint_int64(env, value, &ns, &isExact);
  return ns;
}

static std::vector<ReceivePath> pathsOf(napi_env env, napi_value list) {
  uint32_t count = 0;
  napi_get_array_length(env, list, &count);
  std::vector<ReceivePath> paths;
  for (uint32_t at = 0; at < count && at < static_cast<uint32_t>(MOST_PATHS); at++) {
    napi_value path;
    napi_get_element(env, list, at, &path);
    paths.push_back({textOf(env, namedOf(env, path, "group")), wholeOf(env, path, "port"),
                     textOf(env, namedOf(env, path, "interfaceAddress")), textOf(env, namedOf(env, path, "source"))});
  }
  return paths;
}

/** Milliseconds of a setting as nanoseconds. */
static int64_t nsOfMs(int ms) { return static_cast<int64_t>(ms) * 1000000; }

/** openReceiver(clock, {paths, ...}): receiver; what the fields are says NativeOptions in receiver.ts */
static napi_value OpenReceiver(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  if (!startGst()) return throwStartFailure(env);
  napi_value given = arguments[1];
  ReceiverOptions options;
  options.clock = sharedOf<AudioClock>(env, arguments[0]);
  options.paths = pathsOf(env, namedOf(env, given, "paths"));
  options.concealPackets = wholeOf(env, given, "concealPackets");
  options.receiveBufferBytes = wholeOf(env, given, "receiveBufferBytes");
  options.realtimePriority = wholeOf(env, given, "realtimePriority");
  ReceptionSettings& reception = options.reception;
  reception.bytesPerSample = wholeOf(env, given, "bytesPerSample");
  reception.channels = wholeOf(env, given, "channels");
  if (reception.channels < 0 || reception.channels > MOST_CHANNELS) {
    std::string most = std::to_string(reception.channels) + " channels, at most " + std::to_string(MOST_CHANNELS) + " are possible";
    napi_throw_range_error(env, nullptr, most.c_str());
    return nullptr;
  }
  reception.payloadType = wholeOf(env, given, "payloadType");
  reception.mediaOffset = static_cast<uint32_t>(numberOf(env, namedOf(env, given, "mediaOffset")));
  reception.followsArrival = boolOf(env, namedOf(env, given, "followsArrival"));
  reception.ringFrames = frameAt(nsOfMs(wholeOf(env, given, "ringMs")));
  reception.senderGoneNs = nsOfMs(wholeOf(env, given, "senderGoneMs"));
  reception.linkNs = nsOf(env, namedOf(env, given, "linkNs"));
  Failure failure;
  auto receiver = Receiver::open(options, &failure);
  if (failure.failed()) return throwFailure(env, failure, options.paths.empty() ? "" : options.paths[0].group);
  return jsShared(env, receiver);
}

/** receiverId(receiver): number */
static napi_value ReceiverId(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  return jsNumber(env, sharedOf<Receiver>(env, arguments[0])->id);
}

static Value count(uint64_t number) { return Value{static_cast<double>(number)}; }

static Value count(int number) { return Value{static_cast<double>(number)}; }

static Value addressOf(uint32_t address) {
  char text[INET_ADDRSTRLEN];
  if (address == 0 || inet_ntop(AF_INET, &address, text, sizeof text) == nullptr) return Value{};
  return Value{std::string(text)};
}

static Value pathValue(const PathCounts& path) {
  Value::List malformed;
  for (uint64_t number : path.malformed) malformed.push_back(count(number));
  return Value{Value::Fields{
      {"packets", count(path.packets)},
      {"bytes", count(path.bytes)},
      {"lost", count(path.lost)},
      {"duplicate", count(path.duplicate)},
      {"reordered", count(path.reordered)},
      {"restarts", count(path.restarts)},
      {"late", count(path.late)},
      {"wild", count(path.wild)},
      {"wrongSource", count(path.wrongSource)},
      {"wrongSsrc", count(path.wrongSsrc)},
      {"wrongFormat", count(path.wrongFormat)},
      {"malformed", Value{malformed}},
      {"sender", addressOf(path.sender)},
      {"otherAddress", addressOf(path.otherAddress)},
      {"ssrc", count(static_cast<uint64_t>(path.ssrc))},
      {"payloadType", count(path.payloadType)},
      {"seenFrameBytes", count(path.seenFrameBytes)},
  }};
}

/** receiverStats(receiver): what NativeStats in receiver.ts says */
static napi_value ReceiverStats(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto receiver = sharedOf<Receiver>(env, arguments[0]);
  WholeCounts whole = receiver->reception->wholeCounts();
  Realtime realtime = receiver->realtime();
  Value::List paths;
  for (int path = 0; path < receiver->pathCount; path++)
    paths.push_back(pathValue(receiver->reception->pathCounts(path, monotonicNow())));
  return jsValue(env, Value{Value::Fields{
                          {"paths", Value{paths}},
                          {"packets", count(whole.packets)},
                          {"lost", count(whole.lost)},
                          {"late", count(whole.late)},
                          {"channels", count(whole.channels)},
                          {"framesPerPacket", count(whole.framesPerPacket)},
                          {"anchors", count(whole.anchors)},
                          {"goodFrames", count(whole.goodFrames)},
                          {"repeatedFrames", count(whole.repeatedFrames)},
                          {"silentFrames", count(whole.silentFrames)},
                          {"glitches", count(whole.glitches)},
                          {"lastTimestamp", count(static_cast<uint64_t>(whole.lastTimestamp))},
                          {"lastMonotonicNs", Value{whole.lastMonotonicNs}},
                          {"errors", count(receiver->errors())},
                          {"receiveBufferBytes", count(receiver->receiveBufferBytes())},
                          {"asked", count(realtime.asked)},
                          {"granted", Value{realtime.isGranted}},
                          {"refusal", count(realtime.err)},
                      }});
}

/** takeArrivals(receiver): what NativeArrivals in receiver.ts says */
static napi_value TakeArrivals(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Arrivals arrivals = sharedOf<Receiver>(env, arguments[0])->reception->takeArrivals();
  return jsValue(env, Value{Value::Fields{
                          {"packets", count(arrivals.packets)},
                          {"leastNs", Value{arrivals.leastNs}},
                          {"medianNs", Value{arrivals.medianNs}},
                          {"p99Ns", Value{arrivals.p99Ns}},
                          {"mostNs", Value{arrivals.mostNs}},
                          {"fastestMonotonicNs", Value{arrivals.fastestMonotonicNs}},
                          {"fastestFrame", Value{arrivals.fastestFrame}},
                      }});
}

/** setReceiverLink(receiver, linkNs) */
static napi_value SetLink(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  sharedOf<Receiver>(env, arguments[0])->reception->setLink(nsOf(env, arguments[1]));
  return nullptr;
}

/** closeReceiver(receiver): the last call. The collector knows nothing of the seconds of sound it would keep. */
static napi_value CloseReceiver(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  takeShare<Receiver>(env, arguments[0])->close();
  return nullptr;
}

void addReceiverCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("openReceiver", OpenReceiver),   CALL("receiverId", ReceiverId),    CALL("receiverStats", ReceiverStats),
      CALL("takeArrivals", TakeArrivals),   CALL("setReceiverLink", SetLink),  CALL("closeReceiver", CloseReceiver),
  };
  addCalls(env, exports, calls);
}
