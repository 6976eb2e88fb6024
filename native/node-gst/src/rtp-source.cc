/**
 * Element plantroomrtpsrc: a live source that says block after block what its playout makes, each at its instant. The
 * pipeline goes on whatever is routed; without a receiver it is silent.
 */
#include <errno.h>
#include <gst/audio/audio.h>
#include <gst/base/gstpushsrc.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>

#include "audio-time.h"
#include "clock.h"
#include "elements.h"
#include "playout.h"

static const int64_t LONGEST_FADE_NS = NS_PER_SECOND;
/** As the pad says. */
static const int MOST_OUTPUT_CHANNELS = 64;

struct RtpSource {
  GstPushSrc base;
  Playout* playout;
  std::atomic<bool>* isStopping;
  /** As asked for; what was agreed on with the rest of the pipeline, and is played, stays until it starts again. */
  int channels;
  int agreedChannels;
  guint64 rampNs;
  guint64 fadeNs;
  guint64 mostBehindNs;
  gdouble gain;
  gboolean isMute;
  bool hasBegun;
  GstClockTime firstTime;
};

struct RtpSourceClass {
  GstPushSrcClass base;
};

enum Property {
  CHANNELS = 1,
  RECEIVER,
  GAIN,
  MUTE,
  RAMP_NS,
  FADE_NS,
  MOST_BEHIND,
  DUE,
  BLOCKS,
  LATE_BLOCKS,
  SKIPPED_BLOCKS,
  PHASE_JUMPS,
  CLIPPED_SAMPLES,
};

G_DEFINE_TYPE(RtpSource, rtp_source, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate SOURCE_PAD =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS("audio/x-raw,format=" GST_AUDIO_NE(S32) ",rate=48000,channels=[1,64],layout=interleaved"));

static RtpSource* sourceOf(gpointer object) { return reinterpret_cast<RtpSource*>(object); }

static void setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  RtpSource* source = sourceOf(object);
  switch (id) {
    case CHANNELS: source->channels = g_value_get_int(value); break;
    case RECEIVER: source->playout->route(receiverOf(g_value_get_int(value))); break;
    case GAIN:
      source->gain = g_value_get_double(value);
      return source->playout->setGain(source->gain);
    case MUTE:
      source->isMute = g_value_get_boolean(value);
      return source->playout->setMute(source->isMute != FALSE);
    case RAMP_NS:
      source->rampNs = g_value_get_uint64(value);
      return source->playout->setRampNs(static_cast<int64_t>(source->rampNs));
    case FADE_NS:
      source->fadeNs = g_value_get_uint64(value);
      return source->playout->setFadeNs(static_cast<int64_t>(source->fadeNs));
    case MOST_BEHIND:
      source->mostBehindNs = g_value_get_uint64(value);
      return source->playout->setMostBehindNs(static_cast<int64_t>(source->mostBehindNs));
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  RtpSource* source = sourceOf(object);
  switch (id) {
    case CHANNELS: return g_value_set_int(value, source->channels);
    case RECEIVER: return g_value_set_int(value, source->playout->routed());
    case GAIN: return g_value_set_double(value, source->gain);
    case MUTE: return g_value_set_boolean(value, source->isMute);
    case RAMP_NS: return g_value_set_uint64(value, source->rampNs);
    case FADE_NS: return g_value_set_uint64(value, source->fadeNs);
    case MOST_BEHIND: return g_value_set_uint64(value, source->mostBehindNs);
    case DUE: return g_value_set_uint64(value, static_cast<guint64>(source->playout->counts().dueNs));
    case BLOCKS: return g_value_set_uint64(value, source->playout->counts().blocks);
    case LATE_BLOCKS: return g_value_set_uint64(value, source->playout->counts().lateBlocks);
    case SKIPPED_BLOCKS: return g_value_set_uint64(value, source->playout->counts().skippedBlocks);
    case PHASE_JUMPS: return g_value_set_uint64(value, source->playout->counts().phaseJumps);
    case CLIPPED_SAMPLES: return g_value_set_uint64(value, source->playout->counts().clippedSamples);
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

/** More than two channels stand for no loudspeakers: the wire does not say which. */
static GstCaps* getCaps(GstBaseSrc* base, GstCaps* filter) {
  GstCaps* caps = gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, GST_AUDIO_NE(S32), "rate", G_TYPE_INT,
                                      static_cast<int>(SAMPLE_RATE), "channels", G_TYPE_INT, sourceOf(base)->channels,
                                      "layout", G_TYPE_STRING, "interleaved", nullptr);
  if (sourceOf(base)->channels > 2)
    gst_caps_set_simple(caps, "channel-mask", GST_TYPE_BITMASK, static_cast<guint64>(0), nullptr);
  if (filter == nullptr) return caps;
  GstCaps* both = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(caps);
  return both;
}

static gboolean setCaps(GstBaseSrc* base, GstCaps* caps) {
  return gst_structure_get_int(gst_caps_get_structure(caps, 0), "channels", &sourceOf(base)->agreedChannels);
}

static gboolean start(GstBaseSrc* base) {
  sourceOf(base)->hasBegun = false;
  return TRUE;
}

/** Sleeps last about a block, so that whoever stops the source waits for one at most. */
static gboolean unlock(GstBaseSrc* base) {
  *sourceOf(base)->isStopping = true;
  return TRUE;
}

static gboolean unlockStop(GstBaseSrc* base) {
  *sourceOf(base)->isStopping = false;
  return TRUE;
}

/** The first block begins the count: buffers are stamped by it, without a gap, as they are played. */
static bool begin(RtpSource* source) {
  GstElement* element = GST_ELEMENT(source);
  GstClock* clock = gst_element_get_clock(element);
  if (clock == nullptr) return false;
  // Else the kernel adds 50 us to each sleep of a thread without real-time priority.
  prctl(PR_SET_TIMERSLACK, 1);
  source->playout->begin(clock, monotonicNow());
  GstClockTime now = gst_clock_get_time(clock), baseTime = gst_element_get_base_time(element);
  source->firstTime = now > baseTime ? now - baseTime : 0;
  source->hasBegun = true;
  // The pipeline keeps it for as long as this element is in it.
  gst_object_unref(clock);
  return true;
}

static void sleepUntil(int64_t monotonicNs) {
  timespec until{monotonicNs / NS_PER_SECOND, monotonicNs % NS_PER_SECOND};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

static GstFlowReturn create(GstPushSrc* base, GstBuffer** out) {
  RtpSource* source = sourceOf(base);
  if (*source->isStopping) return GST_FLOW_FLUSHING;
  if (!source->hasBegun && !begin(source)) {
    GST_ELEMENT_ERROR(source, CORE, CLOCK, ("The pipeline has no clock."), (nullptr));
    return GST_FLOW_ERROR;
  }
  sleepUntil(source->playout->dueNs());
  if (*source->isStopping) return GST_FLOW_FLUSHING;
  const int channels = source->agreedChannels;
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, static_cast<gsize>(BLOCK_FRAMES * channels) * 4, nullptr);
  GstMapInfo map;
  if (buffer == nullptr || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) return GST_FLOW_ERROR;
  int64_t elapsed = source->playout->elapsedFrames();
  source->playout->render(reinterpret_cast<int32_t*>(map.data), channels, monotonicNow());
  gst_buffer_unmap(buffer, &map);
  GST_BUFFER_PTS(buffer) = source->firstTime + static_cast<GstClockTime>(nsOfFrame(elapsed));
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(nsOfFrame(BLOCK_FRAMES));
  *out = buffer;
  return GST_FLOW_OK;
}

static void finalize(GObject* object) {
  delete sourceOf(object)->playout;
  delete sourceOf(object)->isStopping;
  G_OBJECT_CLASS(rtp_source_parent_class)->finalize(object);
}

static void installProperties(GObjectClass* object) {
  const auto setting = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  const auto count = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  const guint64 longest = static_cast<guint64>(LONGEST_FADE_NS);
  const auto install = [object](Property id, GParamSpec* spec) { g_object_class_install_property(object, id, spec); };
  const auto counted = [&](Property id, const char* name, const char* meaning) {
    install(id, g_param_spec_uint64(name, name, meaning, 0, G_MAXUINT64, 0, count));
  };
  install(CHANNELS, g_param_spec_int("channels", "channels", "of the output", 1, MOST_OUTPUT_CHANNELS, 2, setting));
  install(RECEIVER, g_param_spec_int("receiver", "receiver", "id of what is played, 0: nothing", 0, G_MAXINT, 0, setting));
  install(GAIN, g_param_spec_double("gain", "gain", "volume, linear; 1 changes no sample", 0, 16, 1, setting));
  install(MUTE, g_param_spec_boolean("mute", "mute", "silent whatever the gain", FALSE, setting));
  install(RAMP_NS, g_param_spec_uint64("ramp-ns", "ramp-ns", "from volume to volume", 0, longest, 20000000, setting));
  install(FADE_NS, g_param_spec_uint64("fade-ns", "fade-ns", "from sound to silence", 0, longest, 5000000, setting));
  install(MOST_BEHIND, g_param_spec_uint64("most-behind-ns", "most-behind-ns", "blocks that are later are left out", 0,
                                           G_MAXINT64, MOST_BEHIND_NS, setting));
  counted(DUE, "due-ns", "CLOCK_MONOTONIC at which the next block is due; 0 before the first");
  counted(BLOCKS, "blocks", "blocks made");
  counted(LATE_BLOCKS, "late-blocks", "blocks that were more than 1 ms late");
  counted(SKIPPED_BLOCKS, "skipped-blocks", "blocks left out because they were too late");
  counted(PHASE_JUMPS, "phase-jumps", "times the clock stepped or blocks were left out");
  counted(CLIPPED_SAMPLES, "clipped-samples", "samples that the gain took over full scale");
}

static void rtp_source_class_init(RtpSourceClass* type) {
  GObjectClass* object = G_OBJECT_CLASS(type);
  object->set_property = setProperty;
  object->get_property = getProperty;
  object->finalize = finalize;
  installProperties(object);
  GstElementClass* element = GST_ELEMENT_CLASS(type);
  gst_element_class_set_static_metadata(element, "Plantroom RTP source", "Source/Network",
                                        "Plays received streams, each sample at its instant", "Plantroom");
  gst_element_class_add_static_pad_template(element, &SOURCE_PAD);
  GstBaseSrcClass* base = GST_BASE_SRC_CLASS(type);
  base->get_caps = getCaps;
  base->set_caps = setCaps;
  base->start = start;
  base->unlock = unlock;
  base->unlock_stop = unlockStop;
  GST_PUSH_SRC_CLASS(type)->create = create;
}

static void rtp_source_init(RtpSource* source) {
  source->playout = new Playout();
  source->isStopping = new std::atomic<bool>(false);
  source->channels = source->agreedChannels = 2;
  source->rampNs = 20000000;
  source->fadeNs = 5000000;
  source->mostBehindNs = MOST_BEHIND_NS;
  source->gain = 1;
  source->isMute = FALSE;
  source->hasBegun = false;
  gst_base_src_set_live(GST_BASE_SRC(source), TRUE);
  gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
}

void addRtpSource() { gst_element_register(nullptr, "plantroomrtpsrc", GST_RANK_NONE, rtp_source_get_type()); }
