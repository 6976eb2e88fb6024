/** Big-endian bytes of the wire in, interleaved 32 bits out. @source RFC 3190 4, RFC 3551 4.5.11 */
#include "sample-ring.h"

#include <algorithm>
#include <cstring>
#include <limits>

/** No frame has this number. */
static const int64_t NONE = std::numeric_limits<int64_t>::min();

SampleRing::SampleRing(int channels, int64_t frames)
    : channels(channels),
      frames(frames),
      numbers(static_cast<size_t>(frames), NONE),
      samples(static_cast<size_t>(frames * channels)) {}

static int32_t sampleOf(const uint8_t* wire, int bytesPerSample) {
  uint32_t bits = static_cast<uint32_t>(wire[0]) << 24 | static_cast<uint32_t>(wire[1]) << 16;
  if (bytesPerSample == 3) bits |= static_cast<uint32_t>(wire[2]) << 8;
  return static_cast<int32_t>(bits);
}

int SampleRing::write(int64_t frame, const uint8_t* wire, int count, int bytesPerSample, bool isCopy) {
  int fresh = 0;
  int frameBytes = bytesPerSample * channels;
  for (int at = 0; at < count; at++, wire += frameBytes) {
    size_t slot = slotOf(frame + at);
    if (isCopy && numbers[slot] == frame + at) continue;
    numbers[slot] = frame + at;
    int32_t* to = &samples[slot * static_cast<size_t>(channels)];
    for (int channel = 0; channel < channels; channel++) to[channel] = sampleOf(wire + channel * bytesPerSample, bytesPerSample);
    fresh++;
  }
  return fresh;
}

void SampleRing::read(int64_t frame, int count, int32_t* out, bool* present) const {
  size_t frameBytes = static_cast<size_t>(channels) * sizeof(int32_t);
  for (int index = 0; index < count; index++, out += channels) {
    present[index] = has(frame + index);
    if (present[index]) std::memcpy(out, at(frame + index), frameBytes);
    else std::fill(out, out + channels, 0);
  }
}
