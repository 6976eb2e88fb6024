/** Makes RTP packets of sound and sends them in time. */
#include "sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "audio-time.h"

/** RFC 3550 5.1: no contributing sources. */
static constexpr size_t HEADER = 12;
/** A sleep ends after this at the latest: to see that the clock has stepped, or that all is over. */
static constexpr int64_t MOST_SLEEP_NS = 20000000;
/** Packets that the spreads are of: two seconds, at least 64. */
static constexpr int64_t SPREAD_NS = 2 * NS_PER_SECOND;
/** A source that was held up is caught up with at once. Where for so long no packet was in time, it has lost time. */
static constexpr int64_t MOST_CATCHING_UP_NS = NS_PER_SECOND;
/** What is late by less is in time, however short the packets are. */
static constexpr int64_t LEAST_LATE_NS = NS_PER_SECOND / 1000;

static int64_t durationOf(const SenderOptions& options) { return nsOfFrame(options.framesPerPacket); }

static size_t spreadLength(const SenderOptions& options) {
  return static_cast<size_t>(std::max<int64_t>(64, SPREAD_NS / durationOf(options)));
}

/** RFC 3550 5.1: the first number is not to be guessed. */
static uint16_t randomSequence() {
  uint16_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0) number = static_cast<uint16_t>(monotonicNow());
  return number;
}

static void put(uint8_t* at, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

static void sleepUntil(int64_t ns) {
  timespec until = {static_cast<time_t>(ns / NS_PER_SECOND), static_cast<long>(ns % NS_PER_SECOND)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

Sender::Sender(const SenderOptions& options)
    : options(options),
      packetNs(durationOf(options)),
      packet(HEADER + static_cast<size_t>(options.framesPerPacket) * options.channels * options.sampleBytes),
      filled(HEADER),
      sequence(randomSequence()),
      late(spreadLength(options)),
      spacing(spreadLength(options)) {
  packet[0] = 2 << 6;
  // RFC 3551 4.1 marks the first packet after silence; there is no silence that is not sent, so none is marked.
  packet[1] = static_cast<uint8_t>(options.payloadType);
  put(&packet[8], options.ssrc, 4);
}

Failure Sender::open(size_t* failedPath) {
  for (const SendTarget& target : options.targets) {
    *failedPath = paths.size();
    paths.push_back(std::make_unique<SendPath>());
    Failure failure = paths.back()->open(target);
    if (failure.failed()) return failure;
  }
  return {};
}

void Sender::begin(int64_t lead) {
  filled = HEADER;
  hasAnchor = false;
  sentNs = 0;
  leadNs = lead;
}

/** The next packet is the first that can be in time, on the grid of packets that begins with the epoch. */
void Sender::anchor(int64_t nowNs) {
  int64_t first = frameAt(options.clock->audioAt(nowNs + leadNs)) + 1;
  int64_t length = options.framesPerPacket;
  frame = -floorDivide(-first, length) * length;
  dueNs = options.clock->monotonicAt(nsOfFrame(frame));
  inTimeNs = std::max(nowNs, dueNs);
  hasAnchor = true;
}

/** Late by more than may be, or late for good: receivers would wait for each packet, and play none that has come too late. */
bool Sender::isBehind(int64_t nowNs, int64_t turnNs) {
  int64_t lateNs = nowNs - turnNs;
  if (lateNs <= std::max(packetNs, LEAST_LATE_NS)) inTimeNs = nowNs;
  return lateNs > options.mostLateNs || nowNs - inTimeNs > MOST_CATCHING_UP_NS;
}

bool Sender::waitForTurn(const std::atomic<bool>& isStopped) {
  while (!isStopped.load(std::memory_order_relaxed)) {
    int64_t nowNs = monotonicNow();
    int64_t turnNs = options.clock->monotonicAt(nsOfFrame(frame));
    // Where the clock only runs a little faster or slower, packets follow it; a step is more than that.
    bool isStep = llabs(turnNs - dueNs) > packetNs / 2;
    if (!hasAnchor || isStep || isBehind(nowNs, turnNs)) {
      if (hasAnchor) resyncCount.fetch_add(1, std::memory_order_relaxed);
      anchor(nowNs);
      continue;
    }
    if (nowNs >= turnNs) {
      late.add(nowNs - turnNs);
      if (sentNs != 0) spacing.add(nowNs - sentNs);
      sentNs = nowNs;
      dueNs = turnNs;
      return true;
    }
    sleepUntil(std::min(turnNs, nowNs + MOST_SLEEP_NS));
  }
  return false;
}

void Sender::sendPacket() {
  put(&packet[2], sequence++, 2);
  put(&packet[4], static_cast<uint32_t>(frame), 4);
  // Before it leaves: this thread may lose the processor, and what somebody has received is never missing in the count.
  packetCount.fetch_add(1, std::memory_order_relaxed);
  for (auto& path : paths) path->send(packet.data(), packet.size());
  filled = HEADER;
  frame += options.framesPerPacket;
  dueNs += packetNs;
  nextTimestamp.store(static_cast<uint32_t>(frame), std::memory_order_relaxed);
  lastSentNs.store(sentNs, std::memory_order_relaxed);
}

bool Sender::take(const uint8_t* bytes, size_t size, const std::atomic<bool>& isStopped) {
  while (size > 0) {
    size_t part = std::min(size, packet.size() - filled);
    memcpy(&packet[filled], bytes, part);
    filled += part;
    bytes += part;
    size -= part;
    if (filled < packet.size()) return true;
    if (!waitForTurn(isStopped)) return false;
    sendPacket();
  }
  return true;
}

SenderCounts Sender::counts() const {
  SenderCounts counts;
  counts.packets = packetCount.load(std::memory_order_relaxed);
  counts.resyncs = resyncCount.load(std::memory_order_relaxed);
  counts.nextTimestamp = nextTimestamp.load(std::memory_order_relaxed);
  counts.lastSentNs = lastSentNs.load(std::memory_order_relaxed);
  counts.captureNs = captureNs.load(std::memory_order_relaxed);
  counts.lateNs = late.quantiles();
  counts.spacingNs = spacing.quantiles();
  return counts;
}

/** Never taken down: threads of pipelines may look something up while the process ends. */
struct Senders {
  std::mutex guard;
  std::map<uint32_t, std::shared_ptr<Sender>> all;
  uint32_t last = 0;
};

static Senders& senders() {
  static Senders* book = new Senders;
  return *book;
}

uint32_t addSender(std::shared_ptr<Sender> sender) {
  std::lock_guard<std::mutex> lock(senders().guard);
  uint32_t id = ++senders().last;
  senders().all[id] = std::move(sender);
  return id;
}

std::shared_ptr<Sender> senderOf(uint32_t id) {
  std::lock_guard<std::mutex> lock(senders().guard);
  auto found = senders().all.find(id);
  return found == senders().all.end() ? nullptr : found->second;
}

void removeSender(uint32_t id) {
  std::lock_guard<std::mutex> lock(senders().guard);
  senders().all.erase(id);
}
