/** Sends sound as RTP: numbers the frames by the audio clock, and sends each packet when the clock reaches it. */
#pragma once

#include <stdint.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "failure.h"
#include "send-path.h"
#include "spread.h"

/** What is sent. */
struct SenderOptions {
  std::shared_ptr<AudioClock> clock;
  /** One, or two that carry the same packets. */
  std::vector<SendTarget> targets;
  /** Bytes of one sample: 2 for L16, 3 for L24. */
  int sampleBytes = 3;
  int channels = 2;
  int framesPerPacket = 48;
  int payloadType = 97;
  uint32_t ssrc = 0;
  /** Later than this, or late for a second without an end, and it restarts at the time it is. */
  int64_t mostLateNs = 0;
};

/** What has been sent so far. */
struct SenderCounts {
  uint64_t packets = 0;
  uint64_t resyncs = 0;
  uint32_t nextTimestamp = 0;
  /** CLOCK_MONOTONIC of the last packet, 0 before the first. */
  int64_t lastSentNs = 0;
  /** How long before it was sent the last frame was taken from its source; -1 where that is not known. */
  int64_t captureNs = -1;
  /** Of the last seconds. */
  Quantiles lateNs;
  Quantiles spacingNs;
};

/** One stream. `take` and `begin` are for one thread at a time, the rest for any. */
class Sender {
 public:
  explicit Sender(const SenderOptions& options);

  Failure open(size_t* failedPath);

  /** What comes next follows nothing that came before. */
  void begin(int64_t leadNs);
  /**
   * Whole frames, big-endian and interleaved. Waits for the clock before each packet.
   * @returns false where `isStopped` became true meanwhile; looked at every 20 ms
   */
  bool take(const uint8_t* bytes, size_t size, const std::atomic<bool>& isStopped);
  void noteCapture(int64_t ns) { captureNs.store(ns, std::memory_order_relaxed); }

  SenderCounts counts() const;
  const SenderOptions options;
  const int64_t packetNs;
  std::vector<std::unique_ptr<SendPath>> paths;

 private:
  bool waitForTurn(const std::atomic<bool>& isStopped);
  void anchor(int64_t nowNs);
  bool isBehind(int64_t nowNs, int64_t turnNs);
  void sendPacket();

  std::vector<uint8_t> packet;
  size_t filled;
  uint16_t sequence;
  int64_t leadNs = 0;
  bool hasAnchor = false;
  /** Of the packet that is being filled: its first frame, and when it is due if the clock does not step. */
  int64_t frame = 0;
  int64_t dueNs = 0;
  int64_t sentNs = 0;
  /** When a packet left in time last, or is to. */
  int64_t inTimeNs = 0;

  std::atomic<uint64_t> packetCount{0};
  std::atomic<uint64_t> resyncCount{0};
  std::atomic<uint32_t> nextTimestamp{0};
  std::atomic<int64_t> lastSentNs{0};
  std::atomic<int64_t> captureNs{-1};
  Spread late;
  Spread spacing;
};

/** Senders by their number, which is how an element of a pipeline finds its own. */
uint32_t addSender(std::shared_ptr<Sender> sender);
/** Nothing where there is none of that number. */
std::shared_ptr<Sender> senderOf(uint32_t id);
void removeSender(uint32_t id);
