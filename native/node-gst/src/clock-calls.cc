/** Calls of the audio clock. */
#include "clock.h"
#include "family.h"
#include "js.h"
#include "shared.h"
#include "start.h"

static int64_t nsOf(napi_env env, napi_value value) {
  int64_t ns = 0;
  bool isExact = false;
  napi_get_value_bigint_int64(env, value, &ns, &isExact);
  return ns;
}

/** createClock(): clock */
static napi_value CreateClock(napi_env env, napi_callback_info info) {
  if (!startGst()) return throwStartFailure(env);
  return jsShared(env, std::make_shared<AudioClock>());
}

/** readClock(clock): [monotonicNs, realtimeNs, audioNs] of one instant */
static napi_value ReadClock(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto clock = sharedOf<AudioClock>(env, arguments[0]);
  MachineTimes now = machineTimes();
  const int64_t times[] = {now.monotonicNs, now.realtimeNs, clock->audioAt(now.monotonicNs)};
  napi_value list;
  napi_create_array_with_length(env, 3, &list);
  for (uint32_t i = 0; i < 3; i++) {
    napi_value value;
    napi_create_bigint_int64(env, times[i], &value);
    napi_set_element(env, list, i, value);
  }
  return list;
}

/** calibrateClock(clock, monotonicNs, audioNs, ratePpt) */
static napi_value CalibrateClock(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto clock = sharedOf<AudioClock>(env, arguments[0]);
  clock->calibrate({nsOf(env, arguments[1]), nsOf(env, arguments[2]), nsOf(env, arguments[3])});
  return nullptr;
}

/** audioAt(clock, monotonicNs): audioNs */
static napi_value AudioAt(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  napi_value value;
  napi_create_bigint_int64(env, sharedOf<AudioClock>(env, arguments[0])->audioAt(nsOf(env, arguments[1])), &value);
  return value;
}

/** monotonicAt(clock, audioNs): monotonicNs */
static napi_value MonotonicAt(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  napi_value value;
  napi_create_bigint_int64(env, sharedOf<AudioClock>(env, arguments[0])->monotonicAt(nsOf(env, arguments[1])), &value);
  return value;
}

void addClockCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("createClock", CreateClock), CALL("readClock", ReadClock),     CALL("calibrateClock", CalibrateClock),
      CALL("audioAt", AudioAt),         CALL("monotonicAt", MonotonicAt),
  };
  addCalls(env, exports, calls);
}
