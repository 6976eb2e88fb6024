/** The element plantroomrtpsink: gives what a pipeline plays to a sender, on the thread that plays it. */
#include <gst/audio/audio.h>
#include <gst/base/gstbasesink.h>

#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "elements.h"
#include "sender.h"

namespace {

/** GObject makes the memory, so what has a constructor hangs from it. */
struct Sending {
  std::atomic<bool> isStopped{false};
  std::shared_ptr<Sender> sender;
  /** Of what comes in. */
  int channels = 0;
  /** What came in, with the channels of the stream. */
  std::vector<uint8_t> mapped;
};

struct RtpSink {
  GstBaseSink base;
  guint senderId;
  guint64 leadNs;
  Sending* sending;
};

struct RtpSinkClass {
  GstBaseSinkClass base;
};

enum { SENDER = 1, LEAD_NS };

G_DEFINE_TYPE(RtpSink, rtp_sink, GST_TYPE_BASE_SINK)

#define RTP_SINK(object) (reinterpret_cast<RtpSink*>(object))

const char* const CAPS =
    "audio/x-raw, format=(string){ S24BE, S16BE }, layout=(string)interleaved, rate=(int)48000, "
    "channels=(int)[ 1, 64 ]";

void setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  RtpSink* self = RTP_SINK(object);
  if (id == SENDER) self->senderId = g_value_get_uint(value);
  else if (id == LEAD_NS) self->leadNs = g_value_get_uint64(value);
  else G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  RtpSink* self = RTP_SINK(object);
  if (id == SENDER) g_value_set_uint(value, self->senderId);
  else if (id == LEAD_NS) g_value_set_uint64(value, self->leadNs);
  else G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

gboolean start(GstBaseSink* base) {
  RtpSink* self = RTP_SINK(base);
  self->sending->sender = senderOf(self->senderId);
  if (self->sending->sender == nullptr) {
    GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("There is no sender %u.", self->senderId), (nullptr));
    return FALSE;
  }
  self->sending->sender->begin(static_cast<int64_t>(self->leadNs));
  return TRUE;
}

gboolean stop(GstBaseSink* base) {
  RTP_SINK(base)->sending->sender.reset();
  return TRUE;
}

gboolean setCaps(GstBaseSink* base, GstCaps* caps) {
  RtpSink* self = RTP_SINK(base);
  const SenderOptions& options = self->sending->sender->options;
  GstAudioInfo info;
  if (!gst_audio_info_from_caps(&info, caps)) return FALSE;
  self->sending->channels = GST_AUDIO_INFO_CHANNELS(&info);
  if (GST_AUDIO_INFO_WIDTH(&info) == options.sampleBytes * 8) return TRUE;
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("The sender takes %d bytes a sample.", options.sampleBytes), (nullptr));
  return FALSE;
}

/** One channel goes to all; of more the first ones are taken, and those that are missing are silent. */
const std::vector<uint8_t>& withChannels(Sending* sending, const uint8_t* bytes, size_t size) {
  const SenderOptions& options = sending->sender->options;
  size_t sample = options.sampleBytes, from = sending->channels, to = options.channels;
  size_t frames = size / (sample * from);
  sending->mapped.assign(frames * to * sample, 0);
  for (size_t frame = 0; frame < frames; frame++) {
    const uint8_t* in = bytes + frame * from * sample;
    uint8_t* out = &sending->mapped[frame * to * sample];
    if (from > 1) memcpy(out, in, std::min(from, to) * sample);
    else
      for (size_t channel = 0; channel < to; channel++) memcpy(out + channel * sample, in, sample);
  }
  return sending->mapped;
}

bool take(Sending* sending, const uint8_t* bytes, size_t size) {
  if (sending->channels == sending->sender->options.channels)
    return sending->sender->take(bytes, size, sending->isStopped);
  const auto& mapped = withChannels(sending, bytes, size);
  return sending->sender->take(mapped.data(), mapped.size(), sending->isStopped);
}

/** When the last frame of the buffer went out, against when its source says that it was taken. */
void noteCapture(RtpSink* self, GstBuffer* buffer) {
  GstClock* clock = GST_ELEMENT_CLOCK(self);
  if (clock == nullptr || !GST_BUFFER_PTS_IS_VALID(buffer) || !GST_BUFFER_DURATION_IS_VALID(buffer)) return;
  GstClockTime endPts = GST_BUFFER_PTS(buffer) + GST_BUFFER_DURATION(buffer);
  GstClockTime end = gst_segment_to_running_time(&self->base.segment, GST_FORMAT_TIME, endPts);
  if (!GST_CLOCK_TIME_IS_VALID(end)) return;
  GstClockTime now = gst_clock_get_time(clock) - gst_element_get_base_time(GST_ELEMENT(self));
  int64_t waitedNs = static_cast<int64_t>(now) - static_cast<int64_t>(end) + self->sending->sender->packetNs;
  self->sending->sender->noteCapture(waitedNs > 0 ? waitedNs : 0);
}

GstFlowReturn render(GstBaseSink* base, GstBuffer* buffer) {
  RtpSink* self = RTP_SINK(base);
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return GST_FLOW_ERROR;
  bool isTaken = take(self->sending, map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  if (!isTaken) return GST_FLOW_FLUSHING;
  noteCapture(self, buffer);
  return GST_FLOW_OK;
}

gboolean unlock(GstBaseSink* base) {
  RTP_SINK(base)->sending->isStopped = true;
  return TRUE;
}

gboolean unlockStop(GstBaseSink* base) {
  RTP_SINK(base)->sending->isStopped = false;
  return TRUE;
}

void finalize(GObject* object) {
  delete RTP_SINK(object)->sending;
  G_OBJECT_CLASS(rtp_sink_parent_class)->finalize(object);
}

void rtp_sink_class_init(RtpSinkClass* klass) {
  GObjectClass* object = G_OBJECT_CLASS(klass);
  object->set_property = setProperty;
  object->get_property = getProperty;
  object->finalize = finalize;
  auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      object, SENDER, g_param_spec_uint("sender", "Sender", "Number of an opened sender", 0, G_MAXUINT, 0, flags));
  g_object_class_install_property(
      object, LEAD_NS,
      g_param_spec_uint64("lead-ns", "Lead", "From the first buffer to its packet, so that later ones may come late", 0,
                          10 * GST_SECOND, 0, flags));
  GstElementClass* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "AES67 sender", "Sink/Network", "Sends sound as RTP in time",
                                        "Plantroom");
  GstCaps* caps = gst_caps_from_string(CAPS);
  gst_element_class_add_pad_template(element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
  GstBaseSinkClass* sink = GST_BASE_SINK_CLASS(klass);
  sink->start = start;
  sink->stop = stop;
  sink->set_caps = setCaps;
  sink->render = render;
  sink->unlock = unlock;
  sink->unlock_stop = unlockStop;
}

void rtp_sink_init(RtpSink* self) {
  self->sending = new Sending;
  // The sender keeps the time; and what is played may be late without being dropped.
  gst_base_sink_set_sync(&self->base, FALSE);
}

}  // namespace

void addRtpSink() { gst_element_register(nullptr, "plantroomrtpsink", GST_RANK_NONE, rtp_sink_get_type()); }
