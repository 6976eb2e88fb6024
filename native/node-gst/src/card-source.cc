/** plantroomcardsrc: captures from a sound card, in blocks of a millisecond. */
#include <gst/base/gstpushsrc.h>

#include <atomic>

#include "card-element.h"
#include "card-elements.h"

namespace {

constexpr int BLOCK_FRAMES = 48;
/** Between two looks at whether it is to stop. */
constexpr int WAIT_MS = 20;

struct PlantroomCardSource {
  GstPushSrc parent;
  CardPart* part;
  int channels;
  std::atomic<bool>* flushing;
};

struct PlantroomCardSourceClass {
  GstPushSrcClass parent;
};

G_DEFINE_TYPE(PlantroomCardSource, plantroom_card_source, GST_TYPE_PUSH_SRC)

PlantroomCardSource* self(void* object) { return static_cast<PlantroomCardSource*>(object); }

/** The device is opened here, when it is known for how many channels. */
gboolean setCaps(GstBaseSrc* base, GstCaps* caps) {
  PlantroomCardSource* source = self(base);
  int channels = 0;
  if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), "channels", &channels)) return FALSE;
  if (channels == source->channels) return TRUE;
  source->channels = 0;
  if (!source->part->open(GST_ELEMENT(base), channels)) return FALSE;
  source->channels = channels;
  return TRUE;
}

/** Two channels where nobody says how many. */
GstCaps* fixate(GstBaseSrc* base, GstCaps* caps) {
  caps = gst_caps_make_writable(caps);
  gst_structure_fixate_field_nearest_int(gst_caps_get_structure(caps, 0), "channels", 2);
  return GST_BASE_SRC_CLASS(plantroom_card_source_parent_class)->fixate(base, caps);
}

gboolean stop(GstBaseSrc* base) {
  self(base)->part->close();
  self(base)->channels = 0;
  return TRUE;
}

gboolean unlock(GstBaseSrc* base) {
  *self(base)->flushing = true;
  return TRUE;
}

gboolean unlockStop(GstBaseSrc* base) {
  *self(base)->flushing = false;
  return TRUE;
}

GstFlowReturn create(GstPushSrc* push, GstBuffer** made) {
  PlantroomCardSource* source = self(push);
  if (source->channels == 0) return GST_FLOW_NOT_NEGOTIATED;
  const size_t bytes = static_cast<size_t>(BLOCK_FRAMES * source->channels) * sizeof(int32_t);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
  GstMapInfo map;
  if (buffer == nullptr || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
    if (buffer != nullptr) gst_buffer_unref(buffer);
    return GST_FLOW_ERROR;
  }
  CardFailure failure;
  bool got = false;
  while (!got && !failure.failed() && !*source->flushing) {
    failure = source->part->pcm().capture(reinterpret_cast<int32_t*>(map.data), BLOCK_FRAMES, WAIT_MS, &got);
  }
  gst_buffer_unmap(buffer, &map);
  if (got) {
    *made = buffer;
    return GST_FLOW_OK;
  }
  gst_buffer_unref(buffer);
  if (!failure.failed()) return GST_FLOW_FLUSHING;
  source->part->tell(GST_ELEMENT(push), failure);
  return GST_FLOW_ERROR;
}

void plantroom_card_source_init(PlantroomCardSource* source) {
  source->part = new CardPart(true);
  source->channels = 0;
  source->flushing = new std::atomic<bool>(false);
  gst_base_src_set_live(GST_BASE_SRC(source), TRUE);
  gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
  gst_base_src_set_do_timestamp(GST_BASE_SRC(source), TRUE);
}

void plantroom_card_source_class_init(PlantroomCardSourceClass* type) {
  GObjectClass* object = G_OBJECT_CLASS(type);
  object->set_property = [](GObject* source, guint id, const GValue* value, GParamSpec* spec) {
    self(source)->part->setProperty(source, id, value, spec);
  };
  object->get_property = [](GObject* source, guint id, GValue* value, GParamSpec* spec) {
    self(source)->part->getProperty(source, id, value, spec);
  };
  object->finalize = [](GObject* source) {
    delete self(source)->part;
    delete self(source)->flushing;
    G_OBJECT_CLASS(plantroom_card_source_parent_class)->finalize(source);
  };
  CardPart::install(object);

  GstElementClass* element = GST_ELEMENT_CLASS(type);
  gst_element_class_set_static_metadata(element, "Plantroom card source", "Source/Audio", "captures from a sound card",
                                        "Plantroom");
  GstCaps* caps = gst_caps_from_string(CARD_CAPS);
  gst_element_class_add_pad_template(element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);

  GstBaseSrcClass* source = GST_BASE_SRC_CLASS(type);
  source->set_caps = setCaps;
  source->fixate = fixate;
  source->stop = stop;
  source->unlock = unlock;
  source->unlock_stop = unlockStop;
  GST_PUSH_SRC_CLASS(type)->create = create;
}

}  // namespace

void addCardSource() { gst_element_register(nullptr, "plantroomcardsrc", GST_RANK_NONE, plantroom_card_source_get_type()); }
