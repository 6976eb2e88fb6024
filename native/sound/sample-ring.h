/**
 * Samples by their place in time. Each frame knows its own number, so that what was not written, or was written a lap
 * before, is absent; in which order packets came does not matter.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

class SampleRing {
 public:
  /** Samples are kept as 32 bits, the wire's bits at the top; interleaved. */
  SampleRing(int channels, int64_t frames);

  /**
   * @param isCopy of a packet that was written before: only what is not there yet is written. Else it is what its sender
   *   says now, whatever it said of that time before its clock went back
   * @returns how many frames were written
   */
  int write(int64_t frame, const uint8_t* wire, int frames, int bytesPerSample, bool isCopy);
  bool has(int64_t frame) const { return numbers[slotOf(frame)] == frame; }
  /** @param samples room for `frames` frames; absent ones are zero @param present room for as many */
  void read(int64_t frame, int frames, int32_t* samples, bool* present) const;
  const int32_t* at(int64_t frame) const { return &samples[slotOf(frame) * static_cast<size_t>(channels)]; }

  const int channels;
  const int64_t frames;

 private:
  size_t slotOf(int64_t frame) const {
    int64_t rest = frame % frames;
    return static_cast<size_t>(rest < 0 ? rest + frames : rest);
  }

  std::vector<int64_t> numbers;
  std::vector<int32_t> samples;
};
