/**
 * The audio clock: nanoseconds since the PTP epoch as the grandmaster tells them, kept on CLOCK_MONOTONIC by a calibration
 * that somebody renews. Senders, receivers and elements take the time from here and not from GstClock: a GstClock never
 * goes back, and a grandmaster may.
 */
#pragma once

#include <gst/gst.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>

/** At `monotonicNs` it was `audioNs`, and from there audio time runs `ratePpt` parts in 10^12 faster than CLOCK_MONOTONIC. */
struct Calibration {
  int64_t monotonicNs = 0;
  int64_t audioNs = 0;
  int64_t ratePpt = 0;
};

/** CLOCK_MONOTONIC and CLOCK_REALTIME of one instant, in nanoseconds. */
struct MachineTimes {
  int64_t monotonicNs;
  int64_t realtimeNs;
};

int64_t monotonicNow();

/** Both clocks, read as close together as three tries make it. */
MachineTimes machineTimes();

/** Shared by std::shared_ptr; every method may be called from any thread, at real-time priority too. */
class AudioClock {
 public:
  /** Starts with the machine's wall clock. */
  AudioClock();
  ~AudioClock();
  AudioClock(const AudioClock&) = delete;
  AudioClock& operator=(const AudioClock&) = delete;

  /**
   * The clock for pipelines: runs at the audio clock's rate but never steps, so that sources and sinks of GStreamer's go
   * on when the grandmaster's epoch changes. Borrowed.
   */
  GstClock* forPipelines() const { return gstClock; }

  /** Audio time now. */
  int64_t audioNow() const { return audioAt(monotonicNow()); }
  int64_t audioAt(int64_t monotonicNs) const;
  /** The first instant of CLOCK_MONOTONIC at which it is `audioNs`: what to sleep until. */
  int64_t monotonicAt(int64_t audioNs) const;

  void calibrate(const Calibration& next);

 private:
  Calibration calibration() const;

  /** One calibration that is written while the other is read. */
  struct Slot {
    std::atomic<int64_t> monotonicNs{0};
    std::atomic<int64_t> audioNs{0};
    std::atomic<int64_t> ratePpt{0};
  };

  GstClock* gstClock;
  std::mutex writing;
  /** Readers take slots[version % 2] and never wait: one at real-time priority must not wait for whom it keeps from running. */
  std::atomic<uint32_t> version{0};
  Slot slots[2];
};
