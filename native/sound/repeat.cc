/** Differences at the joints fade along half a cosine; a steady offset fades slowly, so that a bass tone goes on. */
#include "repeat.h"

#include <algorithm>
#include <cmath>

#include "fade.h"

static const int STEP_FRAMES = 32;
static const int OFFSET_FRAMES = 480;
static const int CORRECTION_FRAMES = 48;

/** 1 at the joint, 0 after `frames`. */
static float fading(int frame, int frames) {
  return frame >= frames ? 0 : static_cast<float>(1 - halfCosine(static_cast<double>(frame) / frames));
}

void Repeat::begin() {
  lag = bestLag(past.search());
  float sum = 0;
  for (int back = 1; back <= TEMPLATE_FRAMES; back++) sum += past.ago(back) - past.ago(back + lag);
  offset = sum / TEMPLATE_FRAMES;
  step = past.ago(1) - past.ago(1 + lag) - offset;
  played = 0;
  outFrames = 0;
  // Good samples that were still led to are in the past as they were played.
  correctionLeft = 0;
}

float Repeat::leadIn(int frame) const { return offset * fading(frame, OFFSET_FRAMES) + step * fading(frame, STEP_FRAMES); }

float Repeat::leadOut(int frame) const {
  if (outFrames == 0) return 0;
  double part = static_cast<double>(frame - outFrom + 1) / (outFrames + 1);
  return outStep * static_cast<float>(halfCosine(std::clamp(part, 0.0, 1.0)));
}

void Repeat::planEnd(int frames, float good) {
  if (outFrames > 0 || frames > HORIZON_FRAMES) return;
  float free[HORIZON_FRAMES + 1];
  for (int at = 0; at <= frames; at++)
    free[at] = (at < lag ? past.ago(lag - at) : free[at - lag]) + leadIn(played + at);
  outFrom = played;
  outFrames = frames;
  outStep = good - free[frames];
}

float Repeat::next() {
  float free = past.ago(lag) + leadIn(played);
  float sample = free + leadOut(played);
  past.add(free);
  played++;
  return sample;
}

void Repeat::end(float good) {
  bool isPlanned = outFrames > 0 && played == outFrom + outFrames;
  correctionStep = past.ago(lag) + leadIn(played) + leadOut(played) - good;
  correctionLeft = isPlanned ? 0 : CORRECTION_FRAMES;
  // The past is what was played, way out and all.
  if (outFrames == 0) return;
  for (int frame = outFrom; frame < played; frame++)
    if (played - frame <= SEARCH_FRAMES) past.ago(played - frame) += leadOut(frame);
}

float Repeat::correction() {
  if (correctionLeft == 0) return 0;
  float now = correctionStep * fading(CORRECTION_FRAMES - correctionLeft, CORRECTION_FRAMES);
  correctionLeft--;
  return now;
}

void Repeat::clear() {
  past.clear();
  correctionLeft = 0;
}
