/** When packets came since somebody last asked: the span of transit, its spread, and the fastest packet of all. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/** Transit: from the instant a packet's first frame was taken, on the receiver's clock, to its arrival. */
struct Arrivals {
  uint64_t packets = 0;
  int64_t leastNs = 0;
  int64_t medianNs = 0;
  int64_t p99Ns = 0;
  int64_t mostNs = 0;
  /** The packet that was fastest against CLOCK_MONOTONIC: when it arrived, and its frame. */
  int64_t fastestMonotonicNs = 0;
  int64_t fastestFrame = 0;
};

class ArrivalWindow {
 public:
  ArrivalWindow() { transits.reserve(MOST); }

  void take(int64_t frame, int64_t audioNs, int64_t monotonicNs);
  /** Moves what was gathered into `other`, which is empty, and is empty afterwards. */
  void moveTo(ArrivalWindow* other);
  /** Sorts: not on a thread that must be on time. */
  Arrivals summary();

 private:
  /** A second of packets of 0.125 ms; of more than that the spread is of the last ones. */
  static constexpr size_t MOST = 8192;

  Arrivals span;
  int64_t fastestNs = 0;
  std::vector<int64_t> transits;
};
