/**
 * The least mean square difference, a steady offset counted a quarter: the repeat takes an offset along without a step,
 * so that a period of 50 Hz is not broken for the sake of a sample. First every second lag and sample, then all of them
 * around the best.
 */
#include "lag-search.h"

#include <algorithm>

static float unlikeness(const float* sound, int lag, int stride) {
  const float* now = sound + MOST_LAG;
  const float* then = now - lag;
  float squares = 0, sum = 0;
  for (int at = 0; at < TEMPLATE_FRAMES; at += stride) {
    float difference = now[at] - then[at];
    squares += difference * difference;
    sum += difference;
  }
  float count = static_cast<float>(TEMPLATE_FRAMES / stride);
  return squares / count - 0.75f * (sum / count) * (sum / count);
}

static int bestOf(const float* sound, int from, int to, int stride) {
  int best = from;
  float least = unlikeness(sound, from, stride);
  for (int lag = from + stride; lag <= to; lag += stride) {
    float found = unlikeness(sound, lag, stride);
    if (found >= least) continue;
    least = found;
    best = lag;
  }
  return best;
}

int bestLag(const float* sound) {
  int coarse = bestOf(sound, LEAST_LAG, MOST_LAG, 2);
  return bestOf(sound, std::max(LEAST_LAG, coarse - 2), std::min(MOST_LAG, coarse + 2), 1);
}
