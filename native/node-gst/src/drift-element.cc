/** plantroomdrift: the resampler as an element. */
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "card-element.h"
#include "card-elements.h"
#include "drift.h"

namespace {

enum Property { PROPERTY_PPM = 1, PROPERTY_STEERED, PROPERTY_EXACT, PROPERTY_CLIPPED };

struct PlantroomDrift {
  GstBaseTransform parent;
  /** Guards the pointer and what was asked for: properties come from other threads than sound. */
  std::mutex* mutex;
  std::shared_ptr<Drift>* drift;
  double ppm;
  int channels;
};

struct PlantroomDriftClass {
  GstBaseTransformClass parent;
};

G_DEFINE_TYPE(PlantroomDrift, plantroom_drift, GST_TYPE_BASE_TRANSFORM)

PlantroomDrift* self(void* object) { return static_cast<PlantroomDrift*>(object); }

std::shared_ptr<Drift> driftOf(PlantroomDrift* element) {
  const std::lock_guard lock(*element->mutex);
  return *element->drift;
}

size_t frameBytes(const PlantroomDrift* element) { return static_cast<size_t>(element->channels) * sizeof(int32_t); }

gboolean setCaps(GstBaseTransform* base, GstCaps* in, GstCaps*) {
  PlantroomDrift* element = self(base);
  int channels = 0;
  if (!gst_structure_get_int(gst_caps_get_structure(in, 0), "channels", &channels)) return FALSE;
  auto drift = std::make_shared<Drift>(channels);
  const std::lock_guard lock(*element->mutex);
  element->channels = channels;
  drift->steer(element->ppm);
  *element->drift = drift;
  return TRUE;
}

gboolean unitSize(GstBaseTransform*, GstCaps* caps, gsize* size) {
  int channels = 0;
  if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), "channels", &channels)) return FALSE;
  *size = static_cast<gsize>(channels) * sizeof(int32_t);
  return TRUE;
}

/** Room for the most that may come out; what did come out is said afterwards. */
gboolean transformSize(GstBaseTransform* base, GstPadDirection, GstCaps*, gsize size, GstCaps*, gsize* other) {
  const size_t bytes = frameBytes(self(base));
  *other = Drift::mostOut(size / bytes) * bytes;
  return TRUE;
}

GstFlowReturn transform(GstBaseTransform* base, GstBuffer* in, GstBuffer* out) {
  PlantroomDrift* element = self(base);
  const auto drift = driftOf(element);
  GstMapInfo from;
  GstMapInfo to;
  if (!gst_buffer_map(in, &from, GST_MAP_READ)) return GST_FLOW_ERROR;
  if (!gst_buffer_map(out, &to, GST_MAP_WRITE)) {
    gst_buffer_unmap(in, &from);
    return GST_FLOW_ERROR;
  }
  const size_t bytes = frameBytes(element);
  const size_t frames =
      drift->run(reinterpret_cast<const int32_t*>(from.data), from.size / bytes, reinterpret_cast<int32_t*>(to.data));
  gst_buffer_unmap(out, &to);
  gst_buffer_unmap(in, &from);
  // One frame of input may become none.
  if (frames == 0) return GST_BASE_TRANSFORM_FLOW_DROPPED;
  gst_buffer_set_size(out, static_cast<gssize>(frames * bytes));
  // What was silent in the input may still ring.
  GST_BUFFER_FLAG_UNSET(out, GST_BUFFER_FLAG_GAP);
  return GST_FLOW_OK;
}

gboolean sinkEvent(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    if (const auto drift = driftOf(self(base))) drift->flush();
  }
  return GST_BASE_TRANSFORM_CLASS(plantroom_drift_parent_class)->sink_event(base, event);
}

void setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  PlantroomDrift* element = self(object);
  if (id != PROPERTY_PPM) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  const std::lock_guard lock(*element->mutex);
  element->ppm = g_value_get_double(value);
  if (*element->drift) (*element->drift)->steer(element->ppm);
}

void getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  PlantroomDrift* element = self(object);
  const std::lock_guard lock(*element->mutex);
  const Drift* drift = element->drift->get();
  switch (id) {
    case PROPERTY_PPM: g_value_set_double(value, element->ppm); break;
    case PROPERTY_STEERED: g_value_set_double(value, drift ? drift->ppm() : 0); break;
    case PROPERTY_EXACT: g_value_set_boolean(value, drift ? drift->isExact() : TRUE); break;
    case PROPERTY_CLIPPED: g_value_set_uint64(value, drift ? drift->clipped() : 0); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete self(object)->drift;
  delete self(object)->mutex;
  G_OBJECT_CLASS(plantroom_drift_parent_class)->finalize(object);
}

void plantroom_drift_init(PlantroomDrift* element) {
  element->mutex = new std::mutex;
  element->drift = new std::shared_ptr<Drift>;
  element->ppm = 0;
  element->channels = 1;
}

void plantroom_drift_class_init(PlantroomDriftClass* type) {
  GObjectClass* object = G_OBJECT_CLASS(type);
  object->set_property = setProperty;
  object->get_property = getProperty;
  object->finalize = finalize;
  const auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  const auto writable = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  const double most = Drift::MOST_PPM;
  const char* meaning = "input used up beyond the output, in parts per million";
  g_object_class_install_property(object, PROPERTY_PPM, g_param_spec_double("ppm", "ppm", meaning, -most, most, 0, writable));
  g_object_class_install_property(
      object, PROPERTY_STEERED, g_param_spec_double("steered-ppm", "ppm now", "what it has come to", -most, most, 0, readable));
  g_object_class_install_property(
      object, PROPERTY_EXACT, g_param_spec_boolean("exact", "exact", "the output is the input, bit for bit", TRUE, readable));
  g_object_class_install_property(object, PROPERTY_CLIPPED,
                                  g_param_spec_uint64("clipped", "clipped", "samples that were cut at full scale", 0,
                                                      G_MAXUINT64, 0, readable));

  GstElementClass* element = GST_ELEMENT_CLASS(type);
  gst_element_class_set_static_metadata(element, "Plantroom drift", "Filter/Audio", "resamples by parts per million",
                                        "Plantroom");
  GstCaps* caps = gst_caps_from_string(CARD_CAPS);
  gst_element_class_add_pad_template(element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);

  GstBaseTransformClass* transforming = GST_BASE_TRANSFORM_CLASS(type);
  transforming->set_caps = setCaps;
  transforming->get_unit_size = unitSize;
  transforming->transform_size = transformSize;
  transforming->transform = transform;
  transforming->sink_event = sinkEvent;
}

}  // namespace

void addDrift() { gst_element_register(nullptr, "plantroomdrift", GST_RANK_NONE, plantroom_drift_get_type()); }
