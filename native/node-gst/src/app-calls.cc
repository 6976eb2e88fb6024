/**
 * Buffers in and out of a pipeline: into its appsrc elements, and out of its appsink elements. By their signals, so that
 * no further library is linked; a board without gstreamer1.0-plugins-base's app plugin still loads the addon.
 */
#include <gst/gst.h>
#include <string.h>

#include "family.h"
#include "js.h"
#include "pipeline.h"
#include "shared.h"
#include "value.h"

/** One element by its name, with a reference to it. */
struct Element {
  GstElement* element;

  Element(napi_env env, const std::shared_ptr<Pipeline>& pipeline, napi_value name, const char* factory)
      : element(gst_bin_get_by_name(GST_BIN(pipeline->element()), textOf(env, name).c_str())) {
    bool isIt = element != nullptr && gst_element_get_factory(element) != nullptr &&
                strcmp(GST_OBJECT_NAME(gst_element_get_factory(element)), factory) == 0;
    if (isIt) return;
    gst_clear_object(&element);
    throwCoded(env, "no_element", "no " + std::string(factory) + " has the name " + textOf(env, name));
  }
  ~Element() { gst_clear_object(&element); }
  Element(const Element&) = delete;
};

/** pushBuffer(pipeline, element, bytes, ptsNs, durationNs): whether it was taken */
static napi_value Push(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element source(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsrc");
  if (source.element == nullptr) return nullptr;
  void* data = nullptr;
  size_t length = 0;
  if (napi_get_typedarray_info(env, arguments[2], nullptr, &length, &data, nullptr, nullptr) != napi_ok)
    return throwCoded(env, "bad_value", "a buffer is made of a Uint8Array");
  GstBuffer* buffer = gst_buffer_new_memdup(data, length);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(numberOf(env, arguments[3]));
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(numberOf(env, arguments[4]));
  GstFlowReturn flow = GST_FLOW_ERROR;
  g_signal_emit_by_name(source.element, "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
  return jsValue(env, Value{flow == GST_FLOW_OK});
}

/** endStream(pipeline, element) */
static napi_value End(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element source(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsrc");
  if (source.element == nullptr) return nullptr;
  GstFlowReturn flow = GST_FLOW_ERROR;
  g_signal_emit_by_name(source.element, "end-of-stream", &flow);
  return nullptr;
}

static napi_value bytesOf(napi_env env, GstSample* sample) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  size_t length = buffer == nullptr ? 0 : gst_buffer_get_size(buffer);
  void* data = nullptr;
  napi_value whole, bytes;
  napi_create_arraybuffer(env, length, &data, &whole);
  if (length > 0) gst_buffer_extract(buffer, 0, data, length);
  napi_create_typedarray(env, napi_uint8_array, length, whole, 0, &bytes);
  return bytes;
}

static Value ptsOf(GstSample* sample) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  if (buffer == nullptr || !GST_BUFFER_PTS_IS_VALID(buffer)) return {};
  return {static_cast<double>(GST_BUFFER_PTS(buffer))};
}

/** pullSample(pipeline, element): {caps, ptsNs, bytes}, or null where none waits */
static napi_value Pull(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element sink(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsink");
  if (sink.element == nullptr) return nullptr;
  GstSample* sample = nullptr;
  g_signal_emit_by_name(sink.element, "try-pull-sample", static_cast<guint64>(0), &sample);
  if (sample == nullptr) return jsValue(env, Value{});
  gchar* caps = gst_caps_to_string(gst_sample_get_caps(sample));
  napi_value told = jsValue(env, Value{Value::Fields{{"caps", Value{std::string(caps)}}, {"ptsNs", ptsOf(sample)}}});
  g_free(caps);
  napi_set_named_property(env, told, "bytes", bytesOf(env, sample));
  gst_sample_unref(sample);
  return told;
}

void addAppCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("pushBuffer", Push), CALL("endStream", End), CALL("pullSample", Pull)};
  addCalls(env, exports, calls);
}
