/** What sizes and timestamps tell of a stream's channels and packet time, whatever was announced. */
#pragma once

#include <cstdint>

#include "rtp-packet.h"

/** `unknown`: one packet more tells. */
enum class Fit { fits, unknown, wrong };

/** Most channels of a stream, as description.ts takes them, and frames of one packet: 4 ms and some. */
static const int MOST_CHANNELS = 80;
static const int MOST_FRAMES = 480;

class FormatFinder {
 public:
  /** @param bytesPerSample 2 or 3 @param channels 0: find out */
  FormatFinder(int bytesPerSample, int channels) : bytesPerSample(bytesPerSample), announced(channels), channels(channels) {}

  Fit take(const RtpPacket& packet);
  /** The next packet follows none. */
  void restart() { hasLast = false; }

  /** 0 while unknown. */
  int channelCount() const { return channels; }
  int framesPerPacket() const { return frames; }
  /** Bytes of one frame as size and timestamp step tell them, whatever fits; 0 while unknown. */
  int seenFrameBytes() const { return seenBytes; }

 private:
  void look(const RtpPacket& packet);

  /** Pairs of packets that must agree before what was known is given up. */
  static constexpr int AGREEING = 8;

  const int bytesPerSample;
  const int announced;
  int channels;
  int frames = 0;
  int seenBytes = 0;
  int agreed = 0;
  bool isWrong = false;
  bool hasLast = false;
  uint16_t lastSequence = 0;
  uint32_t lastTimestamp = 0;
  size_t lastBytes = 0;
};
