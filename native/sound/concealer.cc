/** Good frames after good frames are copied bit by bit: nothing is computed until something is lost. */
#include "concealer.h"

#include <algorithm>

#include "gain-ramp.h"

Concealer::Concealer(int channels, int fadeFrames)
    : channels(channels), fade(fadeFrames), repeats(static_cast<size_t>(channels)) {}

void Concealer::beginGap() {
  isInGap = true;
  gapFrames = 0;
  for (Repeat& repeat : repeats) repeat.begin();
}

void Concealer::plan(const int32_t* samples, const bool* present, int from, int frames, GoodAhead ahead) {
  int to = from;
  while (to < frames && !present[to]) to++;
  const int32_t* good = to < frames ? samples + to * channels : ahead.frames >= 0 ? ahead.samples : nullptr;
  if (good == nullptr) return;
  int distance = to - from + (to < frames ? 0 : ahead.frames);
  for (int channel = 0; channel < channels; channel++)
    repeats[static_cast<size_t>(channel)].planEnd(distance, static_cast<float>(good[channel]));
}

void Concealer::passFrame(int32_t* samples) {
  bool isWhole = fade.isOpen();
  uint64_t clipped = 0;
  fade.up();
  for (int channel = 0; channel < channels; channel++) {
    Repeat& repeat = repeats[static_cast<size_t>(channel)];
    float good = static_cast<float>(samples[channel]);
    if (isInGap) repeat.end(good);
    bool isTouched = !isWhole || repeat.isCorrecting();
    float sound = good + repeat.correction();
    repeat.add(sound);
    if (isTouched) samples[channel] = clippedSample((samples[channel] + static_cast<double>(sound - good)) * fade.gain(), &clipped);
  }
  isInGap = false;
}

void Concealer::standIn(int32_t* samples, int repeatFrames, Concealed* done) {
  gapFrames++;
  if (gapFrames <= repeatFrames) {
    done->repeated++;
  } else {
    if (gapFrames == repeatFrames + 1) done->breaks++;
    done->silent++;
    fade.down();
  }
  uint64_t clipped = 0;
  for (int channel = 0; channel < channels; channel++)
    samples[channel] = clippedSample(repeats[static_cast<size_t>(channel)].next() * fade.gain(), &clipped);
  if (!fade.isClosed()) return;
  isInGap = false;
  for (Repeat& repeat : repeats) repeat.clear();
}

Concealed Concealer::process(int32_t* samples, const bool* present, int frames, int repeatFrames, GoodAhead ahead) {
  Concealed done;
  bool isPlanned = false;
  if (hasJumped && !isInGap && !fade.isClosed()) beginGap();
  hasJumped = false;
  for (int frame = 0; frame < frames; frame++) {
    int32_t* at = samples + frame * channels;
    if (present[frame]) {
      passFrame(at);
      isPlanned = false;
      done.good++;
    } else if (fade.isClosed()) {
      std::fill(at, at + channels, 0);
      done.silent++;
    } else {
      if (!isInGap) beginGap();
      if (!isPlanned) plan(samples, present, frame, frames, ahead);
      isPlanned = true;
      standIn(at, repeatFrames, &done);
    }
  }
  return done;
}
