/** Twice the length that is needed, so that it is moved once in so many samples. */
#include "sound-past.h"

#include <algorithm>

void SoundPast::clear() {
  std::fill(samples.begin(), samples.end(), 0.0f);
  end = SEARCH_FRAMES;
}

void SoundPast::shift() {
  std::copy(samples.end() - SEARCH_FRAMES, samples.end(), samples.begin());
  end = SEARCH_FRAMES;
}
