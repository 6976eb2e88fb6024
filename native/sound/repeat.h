/**
 * One channel's stand-in for lost sound: the past is repeated from where it was most like the present, and led without
 * a step from the last good sample into the repeat and out of it to the first good one, as far as that is known.
 */
#pragma once

#include "sound-past.h"

class Repeat {
 public:
  /** Frames that the way out is planned ahead at most. */
  static constexpr int HORIZON_FRAMES = 240;

  /** Sound is lost from the next sample on. */
  void begin();
  /** The next good sample is known: it comes in `frames` samples. */
  void planEnd(int frames, float good);
  /** The next sample of the stand-in. */
  float next();
  /** Good sound goes on with this sample; from here `correction` leads from the stand-in to it. */
  void end(float good);
  /** What is added to the next good sample, so that no step is heard: 0 where the end was planned. */
  float correction();
  bool isCorrecting() const { return correctionLeft > 0; }
  /** A good sample that was played. */
  void add(float sample) { past.add(sample); }
  /** Silence was played. */
  void clear();

 private:
  float leadIn(int frame) const;
  float leadOut(int frame) const;

  SoundPast past;
  int lag = LEAST_LAG;
  int played = 0;
  /** How far the past lay off from the present: on the whole, and in the last sample beside that. */
  float offset = 0;
  float step = 0;
  /** The way out: from which sample on, how long, and to what difference; length 0 while there is none. */
  int outFrom = 0;
  int outFrames = 0;
  float outStep = 0;
  int correctionLeft = 0;
  float correctionStep = 0;
};
