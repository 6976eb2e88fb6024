/** Calibrated time in whole numbers, and the GstClock that runs at its rate. */
#include "clock.h"

#include <time.h>

#include "audio-time.h"

/** Parts of the rate: fine enough that a day of it is wrong by less than a tenth of a microsecond. */
static constexpr int64_t TRILLION = 1000000000000;

static int64_t nsOf(const timespec& time) { return static_cast<int64_t>(time.tv_sec) * NS_PER_SECOND + time.tv_nsec; }

static int64_t clockNow(clockid_t id) {
  timespec time;
  clock_gettime(id, &time);
  return nsOf(time);
}

int64_t monotonicNow() { return clockNow(CLOCK_MONOTONIC); }

MachineTimes machineTimes() {
  MachineTimes best{};
  int64_t bestGap = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    int64_t before = monotonicNow();
    int64_t realtimeNs = clockNow(CLOCK_REALTIME);
    int64_t gap = monotonicNow() - before;
    if (gap >= bestGap) continue;
    bestGap = gap;
    best = {before + gap / 2, realtimeNs};
  }
  return best;
}

static int64_t audioOf(const Calibration& base, int64_t monotonicNs) {
  __int128 passed = static_cast<__int128>(monotonicNs) - base.monotonicNs;
  return base.audioNs + floorDivide(passed * (TRILLION + base.ratePpt), TRILLION);
}

static int64_t monotonicOf(const Calibration& base, int64_t audioNs) {
  __int128 passed = static_cast<__int128>(audioNs) - base.audioNs;
  return base.monotonicNs - floorDivide(-passed * TRILLION, TRILLION + base.ratePpt);
}

AudioClock::AudioClock() {
  gstClock = GST_CLOCK(g_object_new(GST_TYPE_SYSTEM_CLOCK, "clock-type", GST_CLOCK_TYPE_MONOTONIC, nullptr));
  gst_object_ref_sink(gstClock);
  MachineTimes now = machineTimes();
  calibrate({now.monotonicNs, now.realtimeNs, 0});
}

AudioClock::~AudioClock() { gst_object_unref(gstClock); }

Calibration AudioClock::calibration() const {
  for (;;) {
    uint32_t seen = version.load(std::memory_order_acquire);
    const Slot& slot = slots[seen % 2];
    Calibration read{slot.monotonicNs.load(std::memory_order_relaxed), slot.audioNs.load(std::memory_order_relaxed),
                     slot.ratePpt.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version.load(std::memory_order_relaxed) == seen) return read;
  }
}

int64_t AudioClock::audioAt(int64_t monotonicNs) const { return audioOf(calibration(), monotonicNs); }

int64_t AudioClock::monotonicAt(int64_t audioNs) const { return monotonicOf(calibration(), audioNs); }

void AudioClock::calibrate(const Calibration& next) {
  std::lock_guard<std::mutex> lock(writing);
  uint32_t following = version.load(std::memory_order_relaxed) + 1;
  std::atomic_thread_fence(std::memory_order_release);
  Slot& slot = slots[following % 2];
  slot.monotonicNs.store(next.monotonicNs, std::memory_order_relaxed);
  slot.audioNs.store(next.audioNs, std::memory_order_relaxed);
  slot.ratePpt.store(next.ratePpt, std::memory_order_relaxed);
  version.store(following, std::memory_order_release);
  // From where it is now, at the new rate.
  GstClockTime internal = gst_clock_get_internal_time(gstClock), fromInternal, fromExternal, num, denom;
  gst_clock_get_calibration(gstClock, &fromInternal, &fromExternal, &num, &denom);
  GstClockTime external =
      gst_clock_adjust_with_calibration(gstClock, internal, fromInternal, fromExternal, num, denom);
  gst_clock_set_calibration(gstClock, internal, external, TRILLION + next.ratePpt, TRILLION);
}
