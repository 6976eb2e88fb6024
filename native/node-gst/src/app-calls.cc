/**
 * Buffers in and out of a pipeline: into its appsrc elements, and out of its appsink elements. By their signals, so that
 * no further library is linked; a board without gstreamer1.0-plugins-base's app plugin still loads the addon.
 */
#include <gst/gst.h>
#include <string.h>

#include <atomic>

#include "family.h"
#include "js.h"
#include "pipeline.h"
#include "shared.h"
#include "value.h"

/** One element by its name, with a reference to it. */
struct Element {
  GstElement* element;

  /** @param factory null: any */
  Element(napi_env env, const std::shared_ptr<Pipeline>& pipeline, napi_value name, const char* factory)
      : element(gst_bin_get_by_name(GST_BIN(pipeline->element()), textOf(env, name).c_str())) {
    if (element != nullptr && (factory == nullptr || isMadeBy(factory))) return;
    gst_clear_object(&element);
    std::string wanted = factory == nullptr ? "element" : factory;
    throwCoded(env, "no_element", "no " + wanted + " has the name " + textOf(env, name));
  }
  ~Element() { gst_clear_object(&element); }
  Element(const Element&) = delete;

 private:
  bool isMadeBy(const char* factory) const {
    GstElementFactory* made = gst_element_get_factory(element);
    return made != nullptr && strcmp(GST_OBJECT_NAME(made), factory) == 0;
  }
};

/** Bytes are copied, of a sample that was taken only what is said about them. @returns nothing where it is neither */
static GstBuffer* bufferOf(napi_env env, napi_value from) {
  void* data = nullptr;
  size_t length = 0;
  if (napi_get_typedarray_info(env, from, nullptr, &length, &data, nullptr, nullptr) == napi_ok)
    return gst_buffer_new_memdup(data, length);
  napi_valuetype type;
  napi_typeof(env, from, &type);
  if (type != napi_external) return nullptr;
  auto sample = takeShare<GstSample>(env, from);
  GstBuffer* buffer = sample == nullptr ? nullptr : gst_sample_get_buffer(sample.get());
  return buffer == nullptr ? nullptr : gst_buffer_copy(buffer);
}

/** pushBuffer(pipeline, element, bytes or sample, ptsNs, durationNs): whether it was taken */
static napi_value Push(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element source(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsrc");
  if (source.element == nullptr) return nullptr;
  GstBuffer* buffer = bufferOf(env, arguments[2]);
  if (buffer == nullptr) return throwCoded(env, "bad_value", "a buffer is made of a Uint8Array, or of a sample once");
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

/** drainStream(pipeline, element, ptsNs): as the end of a segment, after which another may follow */
static napi_value Drain(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element source(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsrc");
  if (source.element == nullptr) return nullptr;
  auto ptsNs = static_cast<gint64>(numberOf(env, arguments[2]));
  // Waits its turn behind what was pushed. What is a hole in the stream, libav's decoders let by without a thought.
  gst_element_send_event(source.element, gst_event_new_segment_done(GST_FORMAT_TIME, ptsNs));
  return nullptr;
}

using WantedTime = std::atomic<GstClockTime>;
static const char WANTED[] = "plantroom-wanted";

static GstPadProbeReturn onBuffer(GstPad*, GstPadProbeInfo* info, gpointer wanted) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  return GST_BUFFER_PTS(buffer) == *static_cast<WantedTime*>(wanted) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

/** letOnlyIn(pipeline, element, ptsNs) */
static napi_value LetOnlyIn(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element into(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], nullptr);
  if (into.element == nullptr) return nullptr;
  auto ptsNs = static_cast<GstClockTime>(numberOf(env, arguments[2]));
  GstPad* pad = gst_element_get_static_pad(into.element, "sink");
  if (pad == nullptr) return throwCoded(env, "no_element", textOf(env, arguments[1]) + " takes no buffers");
  auto wanted = static_cast<WantedTime*>(g_object_get_data(G_OBJECT(pad), WANTED));
  if (wanted != nullptr) *wanted = ptsNs;
  if (wanted == nullptr) {
    wanted = new WantedTime(ptsNs);
    g_object_set_data_full(G_OBJECT(pad), WANTED, wanted, [](gpointer data) { delete static_cast<WantedTime*>(data); });
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, onBuffer, wanted, nullptr);
  }
  gst_object_unref(pad);
  return nullptr;
}

static size_t lengthOf(GstSample* sample) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  return buffer == nullptr ? 0 : gst_buffer_get_size(buffer);
}

/** readSample(sample): its bytes, once */
static napi_value Read(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto sample = takeShare<GstSample>(env, arguments[0]);
  if (sample == nullptr) return throwCoded(env, "bad_value", "this sample was read or pushed already");
  size_t length = lengthOf(sample.get());
  void* data = nullptr;
  napi_value whole, bytes;
  napi_create_arraybuffer(env, length, &data, &whole);
  if (length > 0) gst_buffer_extract(gst_sample_get_buffer(sample.get()), 0, data, length);
  napi_create_typedarray(env, napi_uint8_array, length, whole, 0, &bytes);
  return bytes;
}

static Value ptsOf(GstSample* sample) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  if (buffer == nullptr || !GST_BUFFER_PTS_IS_VALID(buffer)) return {};
  return {static_cast<double>(GST_BUFFER_PTS(buffer))};
}

/** takeSample(pipeline, element): {caps, ptsNs, length, held}, or null where none waits */
static napi_value Take(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Element sink(env, sharedOf<Pipeline>(env, arguments[0]), arguments[1], "appsink");
  if (sink.element == nullptr) return nullptr;
  GstSample* sample = nullptr;
  g_signal_emit_by_name(sink.element, "try-pull-sample", static_cast<guint64>(0), &sample);
  if (sample == nullptr) return jsValue(env, Value{});
  gchar* caps = gst_caps_to_string(gst_sample_get_caps(sample));
  napi_value told = jsValue(env, Value{Value::Fields{{"caps", Value{std::string(caps)}},
                                                     {"ptsNs", ptsOf(sample)},
                                                     {"length", Value{static_cast<double>(lengthOf(sample))}}}});
  g_free(caps);
  napi_set_named_property(env, told, "held", jsShared(env, std::shared_ptr<GstSample>(sample, gst_sample_unref)));
  return told;
}

void addAppCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {
      CALL("pushBuffer", Push),     CALL("endStream", End),   CALL("drainStream", Drain),
      CALL("letOnlyIn", LetOnlyIn), CALL("takeSample", Take), CALL("readSample", Read),
  };
  addCalls(env, exports, calls);
}
