/** Frames of 48 kHz against nanoseconds: whole numbers of 128 bits, so that no timestamp is ever rounded twice. */
#pragma once

#include <stdint.h>

/** Frames a second; the only rate on the wire. */
constexpr int64_t SAMPLE_RATE = 48000;
constexpr int64_t NS_PER_SECOND = 1000000000;

/** Rounds down, below zero too. */
inline int64_t floorDivide(__int128 number, __int128 by) {
  __int128 whole = number / by;
  return static_cast<int64_t>(number % by < 0 ? whole - 1 : whole);
}

/** Number of the frame that is being taken at `audioNs`: what the clock's counter shows, not yet cut to 32 bits. */
inline int64_t frameAt(int64_t audioNs) {
  return floorDivide(static_cast<__int128>(audioNs) * SAMPLE_RATE, NS_PER_SECOND);
}

/** The first nanosecond of a frame: frameAt(nsOfFrame(f)) is f, and frameAt(nsOfFrame(f) - 1) is f - 1. */
inline int64_t nsOfFrame(int64_t frame) {
  return -floorDivide(-(static_cast<__int128>(frame) * NS_PER_SECOND), SAMPLE_RATE);
}
