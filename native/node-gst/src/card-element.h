/** What the element that plays and the one that captures have in common: the device, what it is opened with, its counts. */
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <string>

#include "card-pcm.h"

/** Part of an element; made and dropped with it. */
class CardPart {
 public:
  explicit CardPart(bool captures) { settings_.captures = captures; }

  /** The properties of both, from `first` on; `setProperty` and `getProperty` take their ids. */
  static void install(GObjectClass* type);
  void setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec);
  void getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec);

  /** Opens the device for that many channels of ours. On a failure the element tells an error. */
  bool open(GstElement* element, int channels);
  void close();
  /** Tells that the device failed. */
  void tell(GstElement* element, const CardFailure& failure) const;

  /** For the thread of sound alone, while it is open. */
  CardPcm& pcm() { return pcm_; }

 private:
  /** Guards the settings and the description: they are asked for by other threads than sound. */
  std::mutex mutex_;
  CardSettings settings_;
  int fillMs_ = 5;
  int bufferMs_ = 40;
  std::string described_;
  CardCounts counts_;
  CardPcm pcm_;
};

/** Frames of sound at 48 kHz of any number of channels, as caps. */
extern const char* const CARD_CAPS;
