/** Where a packet's sound belongs: the frame of the receiver's clock at which its first sample was taken. */
#pragma once

#include <cstdint>

/** `misfit`: too far from now to be of this stream. */
enum class Place { fits, misfit, anchored };

class StreamPlace {
 public:
  /**
   * @param offset RTP timestamp of frame 0, mediaclk:direct (RFC 7273 5.2)
   * @param followsArrival the sender's clock is not ours: the first packet's arrival says what the offset is
   * @param reach frames before and after now that are of this stream
   */
  StreamPlace(uint32_t offset, bool followsArrival, int64_t reach)
      : offset(offset), followsArrival(followsArrival), reach(reach), isAnchored(!followsArrival) {}

  /** @param near the frame of the clock as it arrived @param frame where it goes, unless it is a misfit */
  Place take(uint32_t timestamp, int64_t near, int64_t nowNs, int64_t* frame);

 private:
  /** So many misfits in a row, and nothing that fitted for so long, are a sender that restarted. */
  static constexpr int MISFITS = 3;
  static constexpr int64_t SILENCE_NS = 20000000;

  uint32_t offset;
  const bool followsArrival;
  const int64_t reach;
  bool isAnchored;
  int misfits = 0;
  int64_t fittedNs = 0;
};
