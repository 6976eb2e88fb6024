/** The object that owns an open terminal: its descriptors, its poll handle, its lock, and the calls under way on it. */
#pragma once

#include <node_api.h>
#include <uv.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "blocking.h"
#include "failure.h"
#include "opened.h"
#include "pace.h"
#include "passing.h"
#include "relay.h"
#include "wake.h"

/** Kinds of event given to JavaScript. */
enum class Event { bytes = 0, writable = 1, lost = 2, passed = 3, awake = 4, sent = 5, asked = 6 };

class Port final : private PassingLine, private RelayLine {
 public:
  explicit Port(napi_env env);
  ~Port();

  void adopt(Opened opened, std::string path);

  napi_value begin(napi_value slab, napi_value onEvent);
  napi_value want(int64_t maxBytes);
  napi_value readNow();
  napi_value wakeIn(uint64_t us);
  napi_value sendIn(uint64_t us, napi_value bytes);
  napi_value sendIfQuiet(napi_value bytes);
  napi_value dropSend();
  napi_value readEvery(uint64_t ms);
  napi_value write(napi_value bytes, size_t offset);
  napi_value awaitWritable();
  napi_value outQueue();
  napi_value counts();

  /** Main thread: no event comes after this. */
  void stopPolling();
  /** Any thread, after stopPolling: throws away what waits, ends blocking calls, closes, unlocks. */
  Failure closeDescriptors();

  bool isClosing() const { return closing; }
  void setClosing() { closing = true; }

  /** Main thread: the descriptor is open and nobody is closing it. */
  bool isUsable() const override { return !closing && !isLost; }
  /** @param relayed of `bytes`: what a socket took of them, and of the head before them */
  void emit(Event event, double value, double atUs, size_t relayed = 0);

  const std::string& path() const { return devicePath; }

  napi_env env;
  /** Held by whoever runs an ioctl off the main thread; closing waits for it. */
  std::mutex callMutex;
  /** -1 once closed; off the main thread read it only with callMutex held. */
  int fd = -1;
  int unsupported = 0;
  BlockingCalls blocking;
  /** Main thread only. */
  Passing passing{this};
  Relay relay{this};

 private:
  int descriptor() const override { return fd; }
  void tellPassed() override { emit(Event::passed, 0, 0); }
  void wrote() override;
  size_t sendQuiet(const uint8_t* bytes, size_t length) override;
  void asked(uint32_t id, size_t length, size_t sent) override;
  static void onPoll(uv_poll_t* handle, int status, int events);
  void readable();
  void onTick();
  void watchOrRest();
  void lost(int err);
  void arm();
  bool hasInput() const;
  size_t writeSome(const uint8_t* bytes, size_t length, int* err);
  size_t giveAtOnce(const uint8_t* bytes, size_t length);
  void onWake();

  std::string devicePath;
  int deviceFd = -1;
  bool isExclusive = false;
  UucpLock lock;
  std::atomic<bool> closing{false};

  uv_poll_t* poll = nullptr;
  Wake wake{[](void* port) { static_cast<Port*>(port)->onWake(); }, this};
  /** What the wake under way sends if nothing comes before; empty: it only wakes. */
  std::vector<uint8_t> toSend;
  Pace pace{[](void* port) { static_cast<Port*>(port)->onTick(); }, this};
  int armed = 0;
  size_t wanted = 0;
  bool wantsWritable = false;
  bool isLost = false;
  uint8_t* slab = nullptr;
  size_t slabSize = 0;
  napi_ref slabRef = nullptr;
  napi_ref onEventRef = nullptr;
  napi_async_context context = nullptr;
  napi_async_cleanup_hook_handle cleanup = nullptr;
};

