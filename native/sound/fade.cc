/** The table of a fade, made once. */
#include "fade.h"

#include <cmath>

double halfCosine(double part) { return 0.5 - 0.5 * std::cos(M_PI * part); }

Fade::Fade(int frames) : frames(frames), gains(static_cast<size_t>(frames) + 1) {
  for (int step = 0; step <= frames; step++) gains[static_cast<size_t>(step)] = halfCosine(static_cast<double>(step) / frames);
  // Whole at the top to the last bit, so that an open fade changes no sample.
  gains.back() = 1;
}
