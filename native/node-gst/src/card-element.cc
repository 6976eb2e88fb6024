/** Properties, opening, and errors as GStreamer tells them. */
#include "card-element.h"

#include <errno.h>

const char* const CARD_CAPS = "audio/x-raw,format=S32LE,rate=48000,channels=[1,64],layout=interleaved";

static constexpr int FRAMES_PER_MS = 48;

enum Property { PROPERTY_DEVICE = 1, PROPERTY_FILL_MS, PROPERTY_BUFFER_MS, PROPERTY_FILL, PROPERTY_STARTS, PROPERTY_XRUNS, PROPERTY_DROPPED, PROPERTY_FRAMES, PROPERTY_FORMAT, PROPERTY_REFILL };

void CardPart::install(GObjectClass* type) {
  const auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  const auto writable = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  const auto add = [type](guint id, GParamSpec* spec) { g_object_class_install_property(type, id, spec); };
  const auto count = [readable](const char* name, const char* meaning) {
    return g_param_spec_uint64(name, name, meaning, 0, G_MAXUINT64, 0, readable);
  };
  add(PROPERTY_DEVICE, g_param_spec_string("device", "device", "name of the card, as ALSA has it", "default", writable));
  add(PROPERTY_FILL_MS, g_param_spec_int("fill-ms", "fill", "sound meant to be in its buffer", 1, 1000, 5, writable));
  add(PROPERTY_BUFFER_MS, g_param_spec_int("buffer-ms", "buffer", "room of its buffer", 1, 5000, 40, writable));
  add(PROPERTY_FILL, g_param_spec_double("fill", "fill", "mean of the frames in its buffer since the last read; -1: none looked at",
                                 -1, G_MAXDOUBLE, -1, readable));
  add(PROPERTY_STARTS, count("starts", "how often it was started"));
  add(PROPERTY_XRUNS, count("xruns", "how often it ran dry, or over"));
  add(PROPERTY_DROPPED, count("dropped", "frames thrown away"));
  add(PROPERTY_FRAMES, count("frames", "frames played or captured"));
  add(PROPERTY_FORMAT, g_param_spec_string("format", "format", "what the card takes or gives; empty while closed", "", readable));
  add(PROPERTY_REFILL, g_param_spec_boolean("refill", "refill", "true: its buffer is filled anew", FALSE, writable));
}

void CardPart::setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  const std::lock_guard lock(mutex_);
  switch (id) {
    case PROPERTY_DEVICE: {
      const char* name = g_value_get_string(value);
      settings_.device = name != nullptr ? name : "default";
      break;
    }
    case PROPERTY_FILL_MS: fillMs_ = g_value_get_int(value); break;
    case PROPERTY_BUFFER_MS: bufferMs_ = g_value_get_int(value); break;
    case PROPERTY_REFILL: counts_.refill = g_value_get_boolean(value); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void CardPart::getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const std::lock_guard lock(mutex_);
  switch (id) {
    case PROPERTY_DEVICE: g_value_set_string(value, settings_.device.c_str()); break;
    case PROPERTY_FILL_MS: g_value_set_int(value, fillMs_); break;
    case PROPERTY_BUFFER_MS: g_value_set_int(value, bufferMs_); break;
    case PROPERTY_FILL: g_value_set_double(value, counts_.takeFill()); break;
    case PROPERTY_STARTS: g_value_set_uint64(value, counts_.starts); break;
    case PROPERTY_XRUNS: g_value_set_uint64(value, counts_.xruns); break;
    case PROPERTY_DROPPED: g_value_set_uint64(value, counts_.dropped); break;
    case PROPERTY_FRAMES: g_value_set_uint64(value, counts_.frames); break;
    case PROPERTY_FORMAT: g_value_set_string(value, described_.c_str()); break;
    case PROPERTY_REFILL: g_value_set_boolean(value, counts_.refill); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

bool CardPart::open(GstElement* element, int channels) {
  CardSettings settings;
  {
    const std::lock_guard lock(mutex_);
    settings_.channels = channels;
    settings_.fillFrames = fillMs_ * FRAMES_PER_MS;
    settings_.bufferFrames = bufferMs_ * FRAMES_PER_MS;
    settings = settings_;
  }
  pcm_.close();
  const CardFailure failure = pcm_.open(settings, &counts_);
  if (failure.failed()) {
    tell(element, failure);
    return false;
  }
  const std::lock_guard lock(mutex_);
  described_ = pcm_.described();
  return true;
}

void CardPart::close() {
  pcm_.close();
  const std::lock_guard lock(mutex_);
  described_.clear();
}

void CardPart::tell(GstElement* element, const CardFailure& failure) const {
  GstResourceError code = settings_.captures ? GST_RESOURCE_ERROR_READ : GST_RESOURCE_ERROR_WRITE;
  if (failure.err == -ENOENT || failure.err == -ENODEV) code = GST_RESOURCE_ERROR_NOT_FOUND;
  if (failure.err == -EBUSY) code = GST_RESOURCE_ERROR_BUSY;
  if (failure.err == -EACCES || failure.err == -EPERM) code = GST_RESOURCE_ERROR_NOT_AUTHORIZED;
  if (failure.err == -EINVAL) code = GST_RESOURCE_ERROR_SETTINGS;
  gst_element_message_full(element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, code, g_strdup(failure.text.c_str()), nullptr,
                           __FILE__, "tell", __LINE__);
}
