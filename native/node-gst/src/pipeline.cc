/** Opens, plays and closes pipelines, and hears their bus. */
#include "pipeline.h"

#include <thread>
#include <utility>

/** One message on its way to JavaScript. */
struct Told {
  Value::Fields fields;
  std::shared_ptr<Pipeline> from;
  std::atomic<int>* waiting;
};

/** Of the messages that may wait, the share of those that come often. */
static constexpr int OFTEN_SHARE = 4;

static GstElement* parse(const std::string& description, Refusal* refusal) {
  GError* error = nullptr;
  GstElement* parsed = gst_parse_launch_full(description.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (parsed == nullptr || error != nullptr) {
    bool isUnknown = error != nullptr && error->code == GST_PARSE_ERROR_NO_SUCH_ELEMENT;
    *refusal = {isUnknown ? "no_element" : "bad_pipeline", error != nullptr ? error->message : "not understood"};
    g_clear_error(&error);
    if (parsed != nullptr) gst_object_unref(gst_object_ref_sink(parsed));
    return nullptr;
  }
  gst_object_ref_sink(parsed);
  if (GST_IS_PIPELINE(parsed)) return parsed;
  // One element alone.
  GstElement* whole = GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr)));
  gst_bin_add(GST_BIN(whole), parsed);
  gst_object_unref(parsed);
  return whole;
}

GstFlowReturn Pipeline::onSample(GstElement* sink, gpointer data) {
  Value name{std::string(GST_OBJECT_NAME(sink))};
  // Never dropped: as many can wait as the sink holds.
  static_cast<Pipeline*>(data)->post({{"type", Value{std::string("sample")}}, {"element", name}}, 0);
  return GST_FLOW_OK;
}

/** Of drainStream: what was pushed before has gone by here. The sink would tell it to the bus, as if a loop had ended. */
GstPadProbeReturn Pipeline::onEvent(GstPad* pad, GstPadProbeInfo* info, gpointer data) {
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_SEGMENT_DONE) return GST_PAD_PROBE_OK;
  Value name{std::string(GST_OBJECT_NAME(GST_PAD_PARENT(pad)))};
  static_cast<Pipeline*>(data)->post({{"type", Value{std::string("drained")}}, {"element", name}}, 0);
  return GST_PAD_PROBE_DROP;
}

/** What appsink elements have is told, so that JavaScript can take it. They are gone before this object is. */
void Pipeline::hearSinks() {
  GstIterator* sinks = gst_bin_iterate_all_by_element_factory_name(GST_BIN(pipeline), "appsink");
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(sinks, &item) == GST_ITERATOR_OK) {
    auto sink = G_OBJECT(g_value_get_object(&item));
    g_object_set(sink, "emit-signals", TRUE, nullptr);
    g_signal_connect(sink, "new-sample", G_CALLBACK(onSample), this);
    GstPad* pad = gst_element_get_static_pad(GST_ELEMENT(sink), "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, onEvent, this, nullptr);
    gst_object_unref(pad);
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(sinks);
}

std::shared_ptr<Pipeline> Pipeline::open(const PipelineOptions& options, Refusal* refusal) {
  std::shared_ptr<Pipeline> opened(new Pipeline(options));
  opened->pipeline = parse(options.description, refusal);
  if (opened->pipeline == nullptr) return nullptr;
  gst_pipeline_use_clock(GST_PIPELINE(opened->pipeline), options.clock->forPipelines());
  opened->threads.asked = options.realtimePriority;
  opened->hearSinks();
  GstBus* bus = gst_element_get_bus(opened->pipeline);
  gst_bus_set_sync_handler(bus, onBusMessage, new std::shared_ptr<Pipeline>(opened),
                           [](gpointer data) { delete static_cast<std::shared_ptr<Pipeline>*>(data); });
  gst_object_unref(bus);
  return opened;
}

/** Main thread: hands one message to JavaScript; `env` is null when there is no JavaScript any more. */
static void onTold(napi_env env, napi_value onMessage, void*, void* data) {
  std::unique_ptr<Told> told(static_cast<Told*>(data));
  told->waiting->fetch_sub(1);
  if (env == nullptr) return;
  napi_value message = jsValue(env, Value{std::move(told->fields)}), receiver, result;
  napi_get_undefined(env, &receiver);
  if (napi_call_function(env, receiver, onMessage, 1, &message, &result) != napi_pending_exception) return;
  napi_value error;
  napi_get_and_clear_last_exception(env, &error);
  napi_fatal_exception(env, error);
}

void Pipeline::tell(napi_env env, napi_value onMessage) {
  napi_value name = jsString(env, "plantroom:pipeline");
  napi_create_threadsafe_function(env, onMessage, nullptr, name, 0, 1, nullptr, nullptr, nullptr, onTold, &teller);
}

void Pipeline::post(Value::Fields fields, int most) {
  if (most > 0 && waiting.load() >= most) {
    droppedCount.fetch_add(1);
    return;
  }
  std::lock_guard<std::mutex> lock(telling);
  if (teller == nullptr) return;
  waiting.fetch_add(1);
  auto told = new Told{std::move(fields), shared_from_this(), &waiting};
  if (napi_call_threadsafe_function(teller, told, napi_tsfn_nonblocking) != napi_ok) delete told;
}

GstBusSyncReply Pipeline::onBusMessage(GstBus* bus, GstMessage* message, gpointer data) {
  (*static_cast<std::shared_ptr<Pipeline>*>(data))->heard(message);
  // Nothing is ever left in the bus: there is no main loop to take it out. What is dropped is the handler's to give back.
  gst_message_unref(message);
  return GST_BUS_DROP;
}

/** Any thread of the pipeline's. */
void Pipeline::heard(GstMessage* message) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_STREAM_STATUS) return threadChanged(message);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_SEGMENT_DONE) return rewind();
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    std::lock_guard<std::mutex> lock(noting);
    if (firstError.empty()) firstError = sentenceOf(message);
  }
  Value::Fields fields;
  Telling telling = readMessage(message, &fields);
  if (telling == Telling::NOT) return;
  post(std::move(fields), telling == Telling::OFTEN ? options.queue / OFTEN_SHARE : options.queue);
}

/** On the very thread that the message is about. */
void Pipeline::threadChanged(GstMessage* message) {
  GstStreamStatusType type;
  GstElement* owner;
  gst_message_parse_stream_status(message, &type, &owner);
  if (options.realtimePriority == 0) return;
  if (type == GST_STREAM_STATUS_TYPE_LEAVE) leaveRealtime();
  if (type != GST_STREAM_STATUS_TYPE_ENTER) return;
  int err = enterRealtime(options.realtimePriority);
  std::lock_guard<std::mutex> lock(noting);
  if (threads.err == 0) threads.err = err;
  threads.isGranted = threads.err == 0;
}

Realtime Pipeline::realtime() {
  std::lock_guard<std::mutex> lock(noting);
  return threads;
}

/** A seek joins the thread that says that the segment is done: it needs another. */
void Pipeline::rewind() {
  std::thread([self = shared_from_this()] {
    std::lock_guard<std::mutex> lock(self->changing);
    if (!self->isStopped) gst_element_seek_simple(self->pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_SEGMENT, 0);
  }).detach();
}

/** Waits for it five seconds, and no longer than until an element has told an error: the state says nothing of those. */
GstStateChangeReturn Pipeline::firstBuffer() {
  GstStateChangeReturn result = GST_STATE_CHANGE_ASYNC;
  for (int tries = 0; tries < 100 && result == GST_STATE_CHANGE_ASYNC; tries++) {
    result = gst_element_get_state(pipeline, nullptr, nullptr, 50 * GST_MSECOND);
    std::lock_guard<std::mutex> lock(noting);
    if (!firstError.empty()) return GST_STATE_CHANGE_FAILURE;
  }
  return result == GST_STATE_CHANGE_ASYNC ? GST_STATE_CHANGE_FAILURE : result;
}

/** @returns what went wrong, or nothing */
std::string Pipeline::start() {
  GstStateChangeReturn result = GST_STATE_CHANGE_SUCCESS;
  if (options.isLooping) {
    // Only what has got its first buffer can be told where to turn round.
    result = gst_element_set_state(pipeline, GST_STATE_PAUSED);
    if (result == GST_STATE_CHANGE_ASYNC) result = firstBuffer();
    auto flags = static_cast<GstSeekFlags>(GST_SEEK_FLAG_SEGMENT | GST_SEEK_FLAG_FLUSH);
    if (result == GST_STATE_CHANGE_SUCCESS && !gst_element_seek_simple(pipeline, GST_FORMAT_TIME, flags, 0))
      return "cannot be played from its beginning again";
  }
  if (result != GST_STATE_CHANGE_FAILURE) result = gst_element_set_state(pipeline, GST_STATE_PLAYING);
  if (result != GST_STATE_CHANGE_FAILURE) return "";
  std::lock_guard<std::mutex> lock(noting);
  return firstError.empty() ? "the pipeline does not start, and no element says why" : firstError;
}

void Pipeline::play() {
  std::thread([self = shared_from_this()] {
    std::lock_guard<std::mutex> lock(self->changing);
    std::string error = self->isStopped ? "the pipeline is closed" : self->start();
    Value told = error.empty() ? Value{} : Value{error};
    self->post({{"type", Value{std::string("played")}}, {"error", told}}, 0);
  }).detach();
}

void Pipeline::stop() {
  gst_element_set_state(pipeline, GST_STATE_NULL);
  GstBus* bus = gst_element_get_bus(pipeline);
  // With the handler goes the share that it has in this.
  gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
  gst_object_unref(bus);
  // Here and not in a destructor: JavaScript's share lasts until its collector comes round.
  gst_clear_object(&pipeline);
}

void Pipeline::close() {
  std::thread([self = shared_from_this()] {
    std::lock_guard<std::mutex> lock(self->changing);
    self->isStopped = true;
    self->stop();
    self->post({{"type", Value{std::string("closed")}}}, 0);
    self->letGo();
  }).detach();
}

void Pipeline::letGo() {
  std::lock_guard<std::mutex> lock(telling);
  napi_release_threadsafe_function(std::exchange(teller, nullptr), napi_tsfn_release);
}
