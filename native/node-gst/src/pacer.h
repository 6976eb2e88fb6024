/**
 * When the next block is due, and which frame of which clock it begins with. Blocks follow each other at the clock's pace
 * whatever wakes up late; a clock that steps moves the frame, not the pace.
 */
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <memory>

#include "clock.h"

/** 1 ms. */
static const int BLOCK_FRAMES = 48;
/** A quarter of a second: no card holds so much. */
static const int64_t MOST_BEHIND_NS = 250000000;

class Pacer {
 public:
  /** @param gstClock of the pipeline: what nothing else paces @param nowNs CLOCK_MONOTONIC */
  void begin(GstClock* gstClock, int64_t nowNs);
  /** From the next block on; null: the pipeline's clock. */
  void follow(std::shared_ptr<AudioClock> next);
  /** The block that is due was made; `nowNs` tells whether others were missed. */
  void advance(int64_t nowNs);

  /** CLOCK_MONOTONIC at which the block is due. */
  int64_t dueNs() const { return due; }
  /** The clock's number of its first frame. */
  int64_t frame() const { return current; }
  /** Frames since `begin`, those left out counted too. */
  int64_t elapsedFrames() const { return elapsed; }

  /** What is further behind is not caught up. */
  int64_t mostBehindNs = MOST_BEHIND_NS;
  /** The clock stepped, or blocks were left out. */
  uint64_t phaseJumps = 0;
  /** Blocks left out because nobody came for them for longer than `mostBehindNs`. */
  uint64_t skippedBlocks = 0;
  /** Blocks that were more than their own length late. */
  uint64_t lateBlocks = 0;

 private:
  int64_t audioAt(int64_t monotonicNs) const;
  int64_t monotonicAt(int64_t audioNs) const;
  int64_t nearestFrame(int64_t monotonicNs) const;

  GstClock* pipelineClock = nullptr;
  std::shared_ptr<AudioClock> clock;
  int64_t due = 0;
  int64_t current = 0;
  int64_t elapsed = 0;
};
