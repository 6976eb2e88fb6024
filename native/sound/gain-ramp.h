/** The volume: a gain that ramps to where it was set. At unity and at rest no sample is touched. */
#pragma once

#include <cstdint>

class GainRamp {
 public:
  explicit GainRamp(int frames) : rampFrames(frames) {}

  /** From where it is now, in `rampFrames`. */
  void moveTo(double gain);
  /** At once: nothing has been heard yet. */
  void jumpTo(double gain);
  void setFrames(int frames) { rampFrames = frames; }
  /** @param samples interleaved @returns samples that had to be clipped */
  uint64_t apply(int32_t* samples, int frames, int channels);
  double target() const { return to; }

 private:
  double next();

  int rampFrames;
  double from = 1;
  double to = 1;
  /** Frames of the ramp that are behind; `length` at rest. */
  int done = 0;
  int length = 0;
};

/** The nearest sample, at most full scale; `clipped` counts those that were above. */
int32_t clippedSample(double value, uint64_t* clipped);
