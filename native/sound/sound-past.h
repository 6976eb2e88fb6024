/** The last sound of one channel, as a repeat needs it. */
#pragma once

#include <cstddef>
#include <vector>

#include "lag-search.h"

class SoundPast {
 public:
  SoundPast() : samples(2 * SEARCH_FRAMES) { clear(); }

  void add(float sample) {
    if (end == samples.size()) shift();
    samples[end++] = sample;
  }
  /** @param back 1 is the newest; up to SEARCH_FRAMES */
  float& ago(int back) { return samples[end - static_cast<size_t>(back)]; }
  const float* search() const { return &samples[end - SEARCH_FRAMES]; }
  /** As if there had been silence for ever. */
  void clear();

 private:
  void shift();

  std::vector<float> samples;
  size_t end = 0;
};
