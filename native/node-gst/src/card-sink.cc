/** plantroomcardsink: plays to a sound card, as fast as it is given sound. */
#include <gst/base/gstbasesink.h>

#include "card-element.h"
#include "card-elements.h"

namespace {

struct PlantroomCardSink {
  GstBaseSink parent;
  CardPart* part;
  int channels;
};

struct PlantroomCardSinkClass {
  GstBaseSinkClass parent;
};

G_DEFINE_TYPE(PlantroomCardSink, plantroom_card_sink, GST_TYPE_BASE_SINK)

PlantroomCardSink* self(void* object) { return static_cast<PlantroomCardSink*>(object); }

/** The device is opened here, when it is known for how many channels; anew where they change. */
gboolean setCaps(GstBaseSink* base, GstCaps* caps) {
  PlantroomCardSink* sink = self(base);
  int channels = 0;
  if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), "channels", &channels)) return FALSE;
  if (channels == sink->channels) return TRUE;
  sink->channels = 0;
  if (!sink->part->open(GST_ELEMENT(base), channels)) return FALSE;
  sink->channels = channels;
  return TRUE;
}

gboolean stop(GstBaseSink* base) {
  self(base)->part->close();
  self(base)->channels = 0;
  return TRUE;
}

GstFlowReturn render(GstBaseSink* base, GstBuffer* buffer) {
  PlantroomCardSink* sink = self(base);
  if (sink->channels == 0) return GST_FLOW_NOT_NEGOTIATED;
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return GST_FLOW_ERROR;
  const int frames = static_cast<int>(map.size / sizeof(int32_t)) / sink->channels;
  const CardFailure failure = sink->part->pcm().play(reinterpret_cast<const int32_t*>(map.data), frames);
  gst_buffer_unmap(buffer, &map);
  if (!failure.failed()) return GST_FLOW_OK;
  sink->part->tell(GST_ELEMENT(base), failure);
  return GST_FLOW_ERROR;
}

void plantroom_card_sink_init(PlantroomCardSink* sink) {
  sink->part = new CardPart(false);
  sink->channels = 0;
  gst_base_sink_set_sync(GST_BASE_SINK(sink), FALSE);
  gst_base_sink_set_last_sample_enabled(GST_BASE_SINK(sink), FALSE);
}

void plantroom_card_sink_class_init(PlantroomCardSinkClass* type) {
  GObjectClass* object = G_OBJECT_CLASS(type);
  object->set_property = [](GObject* sink, guint id, const GValue* value, GParamSpec* spec) {
    self(sink)->part->setProperty(sink, id, value, spec);
  };
  object->get_property = [](GObject* sink, guint id, GValue* value, GParamSpec* spec) {
    self(sink)->part->getProperty(sink, id, value, spec);
  };
  object->finalize = [](GObject* sink) {
    delete self(sink)->part;
    G_OBJECT_CLASS(plantroom_card_sink_parent_class)->finalize(sink);
  };
  CardPart::install(object);

  GstElementClass* element = GST_ELEMENT_CLASS(type);
  gst_element_class_set_static_metadata(element, "Plantroom card sink", "Sink/Audio", "plays to a sound card", "Plantroom");
  GstCaps* caps = gst_caps_from_string(CARD_CAPS);
  gst_element_class_add_pad_template(element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);

  GstBaseSinkClass* sinking = GST_BASE_SINK_CLASS(type);
  sinking->set_caps = setCaps;
  sinking->stop = stop;
  sinking->render = render;
}

}  // namespace

void addCardSink() { gst_element_register(nullptr, "plantroomcardsink", GST_RANK_NONE, plantroom_card_sink_get_type()); }
