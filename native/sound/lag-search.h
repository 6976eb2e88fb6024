/** How far back sound was most like what it is now: where a repeat of it may begin without being heard. */
#pragma once

#include <cstddef>

/** Frames of a template, and the least and the most that the search goes back: 1 ms up to a period of 46 Hz. */
static const int TEMPLATE_FRAMES = 64;
static const int LEAST_LAG = 48;
static const int MOST_LAG = 1056;

/** What the search looks at: the last so many samples of one channel. */
static const int SEARCH_FRAMES = MOST_LAG + TEMPLATE_FRAMES;

/** @param sound SEARCH_FRAMES samples, the newest last @returns LEAST_LAG..MOST_LAG */
int bestLag(const float* sound);
