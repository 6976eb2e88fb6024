/** One pipeline: its states are changed off the main thread, and what its bus says goes to one function of JavaScript's. */
#pragma once

#include <gst/gst.h>
#include <node_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "clock.h"
#include "messages.h"
#include "properties.h"
#include "realtime.h"

struct PipelineOptions {
  std::string description;
  std::shared_ptr<AudioClock> clock;
  /** 1..99 for its streaming threads; 0: ordinary ones. */
  int realtimePriority = 0;
  /** Messages that may wait for JavaScript; of those that come often (levels) a quarter of it. */
  int queue = 0;
  /** Begins again at the end, without a gap: what a file needs that is played for ever. */
  bool isLooping = false;
};

/**
 * Shared by JavaScript, by the bus until `close` has ended, and by the threads that change its state. Main thread, but for
 * what GStreamer's threads call.
 */
class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  /** @returns nothing where the description is wrong; `*refusal` says why */
  static std::shared_ptr<Pipeline> open(const PipelineOptions& options, Refusal* refusal);

  /** What messages go to from now on: `onMessage(object)`. Also told: {type: 'played', error} and {type: 'closed'}. */
  void tell(napi_env env, napi_value onMessage);
  /** Starts it on a thread of its own; ends with a message `played`. */
  void play();
  /** Stops it on a thread of its own; ends with a message `closed`, and nothing after that. Once. */
  void close();

  /** Borrowed; gone once `close` was called. */
  GstElement* element() const { return pipeline; }
  Realtime realtime();
  /** Messages that JavaScript was too slow for. */
  uint32_t dropped() const { return droppedCount; }

 private:
  explicit Pipeline(const PipelineOptions& options) : options(options) {}

  static GstBusSyncReply onBusMessage(GstBus* bus, GstMessage* message, gpointer data);
  static GstFlowReturn onSample(GstElement* sink, gpointer data);
  static GstPadProbeReturn onEvent(GstPad* pad, GstPadProbeInfo* info, gpointer data);
  void hearSinks();
  void heard(GstMessage* message);
  void threadChanged(GstMessage* message);
  void rewind();
  GstStateChangeReturn firstBuffer();
  std::string start();
  void stop();
  void letGo();
  /** @param most messages that may be waiting before this one, 0 for any number */
  void post(Value::Fields fields, int most);

  PipelineOptions options;
  GstElement* pipeline = nullptr;
  /** Guards the teller: a thread of an element's own may say something while it is let go of. Null before and after. */
  std::mutex telling;
  napi_threadsafe_function teller = nullptr;

  /** Held while the state changes: one change after the other. */
  std::mutex changing;
  bool isStopped = false;

  /** Guards what streaming threads write. */
  std::mutex noting;
  Realtime threads;
  std::string firstError;

  std::atomic<int> waiting{0};
  std::atomic<uint32_t> droppedCount{0};
};
