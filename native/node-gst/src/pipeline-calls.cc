/** Calls of pipelines. */
#include <string.h>

#include "family.h"
#include "js.h"
#include "pipeline.h"
#include "shared.h"
#include "start.h"
#include "value.h"

static napi_value throwRefusal(napi_env env, const Refusal& refusal) {
  return throwCoded(env, refusal.code, refusal.sentence);
}

/** openPipeline(description, clock, realtimePriority, queue, isLooping, onMessage): pipeline */
static napi_value OpenPipeline(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  if (!startGst()) return throwStartFailure(env);
  PipelineOptions options;
  options.description = textOf(env, arguments[0]);
  options.clock = sharedOf<AudioClock>(env, arguments[1]);
  options.realtimePriority = static_cast<int>(numberOf(env, arguments[2]));
  options.queue = static_cast<int>(numberOf(env, arguments[3]));
  options.isLooping = boolOf(env, arguments[4]);
  Refusal refusal;
  auto pipeline = Pipeline::open(options, &refusal);
  if (pipeline == nullptr) return throwRefusal(env, refusal);
  pipeline->tell(env, arguments[5]);
  return jsShared(env, pipeline);
}

/** playPipeline(pipeline) */
static napi_value Play(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  sharedOf<Pipeline>(env, arguments[0])->play();
  return nullptr;
}

/** closePipeline(pipeline) */
static napi_value Close(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  sharedOf<Pipeline>(env, arguments[0])->close();
  return nullptr;
}

/** setProperty(pipeline, element, property, value) */
static napi_value Set(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto pipeline = sharedOf<Pipeline>(env, arguments[0]);
  Refusal refusal = setProperty(env, pipeline->element(), textOf(env, arguments[1]), textOf(env, arguments[2]),
                                arguments[3]);
  return refusal.code.empty() ? nullptr : throwRefusal(env, refusal);
}

/** getProperty(pipeline, element, property): value */
static napi_value Get(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto pipeline = sharedOf<Pipeline>(env, arguments[0]);
  napi_value value = nullptr;
  Refusal refusal =
      getProperty(env, pipeline->element(), textOf(env, arguments[1]), textOf(env, arguments[2]), &value);
  return refusal.code.empty() ? value : throwRefusal(env, refusal);
}

/** pipelineState(pipeline): {asked, granted, error, dropped} */
static napi_value State(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto pipeline = sharedOf<Pipeline>(env, arguments[0]);
  Realtime threads = pipeline->realtime();
  Value error = threads.err == 0 ? Value{} : Value{std::string(strerror(threads.err))};
  return jsValue(env, Value{Value::Fields{{"asked", Value{static_cast<double>(threads.asked)}},
                                          {"granted", Value{threads.isGranted}},
                                          {"error", error},
                                          {"dropped", Value{static_cast<double>(pipeline->dropped())}}}});
}

void addPipelineCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("openPipeline", OpenPipeline), CALL("playPipeline", Play),  CALL("closePipeline", Close),
      CALL("setProperty", Set),           CALL("getProperty", Get),    CALL("pipelineState", State),
  };
  addCalls(env, exports, calls);
}
