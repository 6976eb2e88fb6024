/** Due instants are taken from the clock anew for each block, so that nothing adds up. */
#include "pacer.h"

#include <cstdlib>
#include <utility>

#include "audio-time.h"

static const int64_t BLOCK_NS = NS_PER_SECOND * BLOCK_FRAMES / SAMPLE_RATE;
/** Blocks come at most so much closer together or further apart than they should; beyond, the clock has stepped. */
static const int64_t STEP_NS = BLOCK_NS / 2;
static const int64_t HALF_FRAME_NS = NS_PER_SECOND / SAMPLE_RATE / 2;

int64_t Pacer::audioAt(int64_t monotonicNs) const {
  if (clock) return clock->audioAt(monotonicNs);
  GstClockTime internal, external, numerator, denominator;
  gst_clock_get_calibration(pipelineClock, &internal, &external, &numerator, &denominator);
  GstClockTime at = static_cast<GstClockTime>(monotonicNs);
  return static_cast<int64_t>(
      gst_clock_adjust_with_calibration(pipelineClock, at, internal, external, numerator, denominator));
}

int64_t Pacer::monotonicAt(int64_t audioNs) const {
  if (clock) return clock->monotonicAt(audioNs);
  GstClockTime internal, external, numerator, denominator;
  gst_clock_get_calibration(pipelineClock, &internal, &external, &numerator, &denominator);
  GstClockTime at = static_cast<GstClockTime>(audioNs);
  return static_cast<int64_t>(
      gst_clock_unadjust_with_calibration(pipelineClock, at, internal, external, numerator, denominator));
}

int64_t Pacer::nearestFrame(int64_t monotonicNs) const { return frameAt(audioAt(monotonicNs) + HALF_FRAME_NS); }

void Pacer::begin(GstClock* gstClock, int64_t nowNs) {
  pipelineClock = gstClock;
  clock = nullptr;
  due = nowNs + BLOCK_NS;
  current = nearestFrame(due);
  elapsed = 0;
}

void Pacer::follow(std::shared_ptr<AudioClock> next) {
  if (next == clock) return;
  clock = std::move(next);
  current = nearestFrame(due);
}

void Pacer::advance(int64_t nowNs) {
  int64_t behindNs = nowNs - due;
  if (behindNs > BLOCK_NS) lateBlocks++;
  int64_t expected = due + BLOCK_NS;
  current += BLOCK_FRAMES;
  elapsed += BLOCK_FRAMES;
  due = monotonicAt(nsOfFrame(current));
  bool hasStepped = std::llabs(due - expected) > STEP_NS;
  if (hasStepped) {
    due = expected;
    current = nearestFrame(due);
  }
  int64_t missed = behindNs > mostBehindNs ? behindNs / BLOCK_NS : 0;
  if (missed > 0) {
    current += missed * BLOCK_FRAMES;
    elapsed += missed * BLOCK_FRAMES;
    due = monotonicAt(nsOfFrame(current));
    skippedBlocks += static_cast<uint64_t>(missed);
  }
  if (hasStepped || missed > 0) phaseJumps++;
}
