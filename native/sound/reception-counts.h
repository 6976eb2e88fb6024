/** What a receiver counts; the faces in JavaScript copy it out. */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rtp-packet.h"

/** ST 2022-7 has two. */
static const int MOST_PATHS = 2;

struct PathCounts {
  /** RTP packets of the sender that is heard. */
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t lost = 0;
  uint64_t duplicate = 0;
  uint64_t reordered = 0;
  uint64_t restarts = 0;
  /** Came when their place had been played. */
  uint64_t late = 0;
  /** Timestamps too far from now. */
  uint64_t wild = 0;
  uint64_t wrongSource = 0;
  uint64_t wrongSsrc = 0;
  /** Another payload type, or a size that is none of the stream's format. */
  uint64_t wrongFormat = 0;
  std::array<uint64_t, static_cast<size_t>(RtpFault::count)> malformed{};
  /** IPv4 addresses as on the wire, 0: none. */
  uint32_t sender = 0;
  uint32_t otherAddress = 0;
  uint32_t ssrc = 0;
  int payloadType = -1;
  /** Bytes of a frame as sizes and timestamps tell them, whatever fits; 0: unknown. */
  int seenFrameBytes = 0;
};

struct WholeCounts {
  /** Packets that brought sound nobody had brought before. */
  uint64_t packets = 0;
  uint64_t lost = 0;
  uint64_t late = 0;
  int channels = 0;
  int framesPerPacket = 0;
  /** Times the place of packets was laid anew; arrivals before and after are not of one line. */
  uint64_t anchors = 0;
  /** What was made of frames as they were played. */
  uint64_t goodFrames = 0;
  uint64_t repeatedFrames = 0;
  uint64_t silentFrames = 0;
  uint64_t glitches = 0;
  /** Timestamp of the last packet of the format, of whatever time, and when it came; monotonic 0: none has. */
  uint32_t lastTimestamp = 0;
  int64_t lastMonotonicNs = 0;
};
