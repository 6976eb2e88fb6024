/** Half a cosine from gain to gain: its spectrum falls faster than a straight line's. */
#include "gain-ramp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fade.h"

int32_t clippedSample(double value, uint64_t* clipped) {
  const double most = std::numeric_limits<int32_t>::max();
  const double least = std::numeric_limits<int32_t>::min();
  if (value > most || value < least) (*clipped)++;
  return static_cast<int32_t>(std::lrint(std::clamp(value, least, most)));
}

void GainRamp::jumpTo(double gain) {
  from = to = gain;
  done = length = 0;
}

void GainRamp::moveTo(double gain) {
  if (gain == to) return;
  from = done < length ? from + (to - from) * halfCosine(static_cast<double>(done) / length) : to;
  to = gain;
  done = 0;
  length = rampFrames;
}

double GainRamp::next() {
  if (done >= length) return to;
  done++;
  return done == length ? to : from + (to - from) * halfCosine(static_cast<double>(done) / length);
}

uint64_t GainRamp::apply(int32_t* samples, int frames, int channels) {
  if (done >= length && to == 1) return 0;
  int total = frames * channels;
  if (done >= length && to == 0) {
    std::fill(samples, samples + total, 0);
    return 0;
  }
  uint64_t clipped = 0;
  for (int frame = 0; frame < frames; frame++, samples += channels) {
    double gain = next();
    for (int channel = 0; channel < channels; channel++) samples[channel] = clippedSample(samples[channel] * gain, &clipped);
  }
  return clipped;
}
