/**
 * All that is known of one stream: takes datagrams of its paths, keeps their sound by time, counts, and gives it to
 * whoever plays. Knows no socket and no thread; every method may be called from any.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "arrival-window.h"
#include "concealer.h"
#include "format-finder.h"
#include "priority-mutex.h"
#include "reception-counts.h"
#include "rtp-packet.h"
#include "sample-ring.h"
#include "sender-gate.h"
#include "sequence-account.h"
#include "stream-place.h"

struct ReceptionSettings {
  int paths = 1;
  /** IPv4 of each path's sender as on the wire, 0: the first one heard. */
  std::array<uint32_t, MOST_PATHS> sources{};
  int bytesPerSample = 3;
  /** 0: find out. */
  int channels = 0;
  /** -1: any. */
  int payloadType = -1;
  uint32_t mediaOffset = 0;
  bool followsArrival = false;
  int64_t ringFrames = 0;
  int64_t senderGoneNs = 0;
  int64_t linkNs = 0;
};

/** One datagram's way here. */
struct Arrival {
  int path = 0;
  uint32_t address = 0;
  int64_t monotonicNs = 0;
  int64_t audioNs = 0;
  bool isTruncated = false;
};

/** A block for whoever plays. `epoch` changes where frame numbers or channels mean something else than before. */
struct PlayedBlock {
  uint64_t epoch = 0;
  int channels = 0;
  int framesPerPacket = 0;
  int aheadFrames = -1;
};

class Reception {
 public:
  explicit Reception(const ReceptionSettings& settings);

  void take(const uint8_t* bytes, size_t length, const Arrival& arrival);

  /**
   * What there is of `frames` frames, which are played now: what comes later is late.
   * @param samples room for MOST_CHANNELS samples a frame @param ahead room for MOST_CHANNELS
   */
  PlayedBlock play(int64_t frame, int frames, int32_t* samples, bool* present, int32_t* ahead);
  void played(const Concealed& done);

  /** From media time to playing. */
  void setLink(int64_t linkNs);
  int64_t linkNs();

  PathCounts pathCounts(int path, int64_t nowNs);
  WholeCounts wholeCounts();
  /** Arrivals since the last call. */
  Arrivals takeArrivals();

 private:
  struct Path {
    Path(uint32_t source, const ReceptionSettings& settings)
        : gate(source, settings.senderGoneNs), format(settings.bytesPerSample, settings.channels) {}

    SenderGate gate;
    FormatFinder format;
    SequenceAccount account;
    PathCounts counts;
  };

  /** @param isCopy whether a packet of its number came before, by whichever path */
  bool isOurs(Path& path, const RtpPacket& packet, const Arrival& arrival, bool* isCopy);
  void useChannels(int channels);
  void keep(Path& path, const RtpPacket& packet, const Arrival& arrival, bool isCopy);
  bool isLate(int64_t frame, int frames, const Arrival& arrival) const;

  const ReceptionSettings settings;
  PriorityMutex mutex;
  std::array<std::unique_ptr<Path>, MOST_PATHS> paths;
  std::unique_ptr<SampleRing> ring;
  StreamPlace place;
  SequenceAccount account;
  uint32_t accountSsrc = 0;
  ArrivalWindow arrivals;
  WholeCounts counts;
  int64_t currentLinkNs;
  uint64_t epoch = 0;
  bool isPlaying = false;
  /** The first frame that has not been played. */
  int64_t nextPlayed = 0;
};
