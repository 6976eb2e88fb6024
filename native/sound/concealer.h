/**
 * Makes sound without clicks of what the ring had. Good frames pass as they are; lost ones are stood in for; what is
 * lost for longer fades to silence, and what comes back fades in.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "fade.h"
#include "repeat.h"

/** What became of frames. */
struct Concealed {
  uint64_t good = 0;
  /** Stood in for by a repeat. */
  uint64_t repeated = 0;
  /** Lost for longer than that: faded, or silent. */
  uint64_t silent = 0;
  /** Times that sound was lost for longer, or went on elsewhere. */
  uint64_t breaks = 0;
};

/** The first good frame after a block; `frames` counts from the block's end, -1 where none is known yet. */
struct GoodAhead {
  int frames = -1;
  const int32_t* samples = nullptr;
};

class Concealer {
 public:
  Concealer(int channels, int fadeFrames);

  /** What comes next does not go on from what was. */
  void jump() { hasJumped = true; }
  /**
   * @param samples interleaved, changed in place; absent frames may hold anything
   * @param repeatFrames lost frames in a row that are stood in for
   */
  Concealed process(int32_t* samples, const bool* present, int frames, int repeatFrames, GoodAhead ahead);
  bool isSilent() const { return fade.isClosed(); }

  const int channels;

 private:
  void beginGap();
  void plan(const int32_t* samples, const bool* present, int from, int frames, GoodAhead ahead);
  void passFrame(int32_t* samples);
  void standIn(int32_t* samples, int repeatFrames, Concealed* done);

  Fade fade;
  std::vector<Repeat> repeats;
  bool isInGap = false;
  bool hasJumped = false;
  int gapFrames = 0;
};
