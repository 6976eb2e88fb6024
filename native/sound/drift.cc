/** The sinc, and the position that moves along the input. */
#include "drift.h"

#include <algorithm>
#include <cmath>

/** Positions between two samples at which the sinc is known; between them a cubic says it (error below -180 dB). */
static constexpr int STEPS = 256;
/** Of the Kaiser window: side lobes at -150 dB, and everything up to 20 kHz as it was. */
static constexpr double BETA = 15.6;
/** Frames a second of a sound card that this is for; the steps below are per second of it. */
static constexpr double FRAMES_PER_S = 48000;
/** How quickly the ratio may change: 100 ppm in half a second, far below what an ear takes for a change of pitch. */
static constexpr double SLEW = 200e-6 / FRAMES_PER_S;
/** How quickly a position between two samples comes to rest on one: at most 20 ppm, the last of it ever more slowly. */
static constexpr double REST_RATE = 20e-6;
static constexpr double REST_SHARE = 1.0 / 4800;
/** Nearer than this to a sample is on it: the step is 170 dB below full scale at most. */
static constexpr double ON_SAMPLE = 1e-9;

static double bessel0(double x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; k < 100 && term > sum * 1e-18; k++) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

/** The windowed sinc at `x` samples from its middle. */
static double sincAt(double x) {
  const double half = Drift::TAPS / 2.0;
  if (std::fabs(x) >= half) return 0;
  if (x == std::nearbyint(x)) return x == 0 ? 1 : 0;
  const double window = bessel0(BETA * std::sqrt(1 - (x / half) * (x / half))) / bessel0(BETA);
  return std::sin(M_PI * x) / (M_PI * x) * window;
}

/**
 * Rows of TAPS, one for each position from one step before 0 to two after 1, as the cubic needs. A row sums to one:
 * what stands still comes out as it went in.
 */
static const std::vector<double>& sincTable() {
  // Never taken down: threads of sound may run while the process ends.
  static const std::vector<double>& table = *new std::vector<double>([] {
    std::vector<double> rows(static_cast<size_t>(STEPS + 3) * Drift::TAPS);
    for (int step = -1; step <= STEPS + 1; step++) {
      double* row = &rows[static_cast<size_t>(step + 1) * Drift::TAPS];
      double sum = 0;
      for (int tap = 0; tap < Drift::TAPS; tap++) {
        row[tap] = sincAt(tap - (Drift::DELAY - 1) - static_cast<double>(step) / STEPS);
        sum += row[tap];
      }
      for (int tap = 0; tap < Drift::TAPS; tap++) row[tap] /= sum;
    }
    return rows;
  }());
  return table;
}

Drift::Drift(int channels) : channels_(channels), sinc_(TAPS) {
  sincTable();
  heard_.resize(static_cast<size_t>(channels));
  flush();
}

void Drift::flush() {
  // Silence before the first sample: the output has as many frames as the input from the start.
  for (auto& samples : heard_) samples.assign(TAPS, 0);
  next_ = 1;
}

void Drift::steer(double ppm) { target_ = std::clamp(ppm, -MOST_PPM, MOST_PPM) * 1e-6; }

void Drift::take(const int32_t* in, size_t frames) {
  // One frame before the position is kept: the position may move back by it.
  const size_t past = next_ - 1;
  for (int channel = 0; channel < channels_; channel++) {
    auto& samples = heard_[static_cast<size_t>(channel)];
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(past));
    const size_t had = samples.size();
    samples.resize(had + frames);
    for (size_t frame = 0; frame < frames; frame++) {
      samples[had + frame] = in[frame * static_cast<size_t>(channels_) + static_cast<size_t>(channel)];
    }
  }
  next_ -= past;
}

size_t Drift::run(const int32_t* in, size_t frames, int32_t* out) {
  take(in, frames);
  size_t written = 0;
  while (next_ + TAPS <= heard_[0].size()) {
    int32_t* frame = out + written * static_cast<size_t>(channels_);
    if (fraction_ == 0) {
      writeExact(next_, frame);
    } else {
      writeBetween(next_, frame);
    }
    written++;
    moveOn();
  }
  return written;
}

void Drift::moveOn() {
  const double target = target_.load(std::memory_order_relaxed);
  double wanted = target;
  if (target == 0 && fraction_ != 0) {
    // To the nearest sample, and there it stays.
    const double away = fraction_ < 0.5 ? -fraction_ : 1 - fraction_;
    if (std::fabs(away) < ON_SAMPLE) {
      next_ += fraction_ < 0.5 ? 1 : 2;
      fraction_ = 0;
      settle(0, true);
      return;
    }
    wanted = std::clamp(away * REST_SHARE, -REST_RATE, REST_RATE);
  }
  const double before = rate_.load(std::memory_order_relaxed);
  const double rate = before + std::clamp(wanted - before, -SLEW, SLEW);
  fraction_ += rate;
  next_ += 1;
  if (fraction_ >= 1) {
    fraction_ -= 1;
    next_ += 1;
  } else if (fraction_ < 0) {
    fraction_ += 1;
    next_ -= 1;
  }
  settle(rate, rate == 0 && target == 0 && fraction_ == 0);
}

void Drift::settle(double rate, bool isExact) {
  rate_.store(rate, std::memory_order_relaxed);
  exact_.store(isExact, std::memory_order_relaxed);
}

void Drift::writeExact(size_t at, int32_t* out) const {
  for (int channel = 0; channel < channels_; channel++) {
    out[channel] = static_cast<int32_t>(heard_[static_cast<size_t>(channel)][at + DELAY - 1]);
  }
}

void Drift::writeBetween(size_t at, int32_t* out) {
  const double place = fraction_ * STEPS;
  const int step = std::min(static_cast<int>(place), STEPS - 1);
  const double x = place - step;
  const double* rows = &sincTable()[static_cast<size_t>(step) * TAPS];
  // Lagrange through the four rows around it.
  const double w0 = -x * (x - 1) * (x - 2) / 6;
  const double w1 = (x + 1) * (x - 1) * (x - 2) / 2;
  const double w2 = -(x + 1) * x * (x - 2) / 2;
  const double w3 = (x + 1) * x * (x - 1) / 6;
  for (int tap = 0; tap < TAPS; tap++) {
    sinc_[static_cast<size_t>(tap)] =
        w0 * rows[tap] + w1 * rows[TAPS + tap] + w2 * rows[2 * TAPS + tap] + w3 * rows[3 * TAPS + tap];
  }
  for (int channel = 0; channel < channels_; channel++) {
    const double* samples = &heard_[static_cast<size_t>(channel)][at];
    // Four sums, so that the processor need not wait for each.
    double sums[4] = {};
    for (int tap = 0; tap < TAPS; tap += 4) {
      for (int lane = 0; lane < 4; lane++) sums[lane] += samples[tap + lane] * sinc_[static_cast<size_t>(tap + lane)];
    }
    const double value = std::nearbyint((sums[0] + sums[1]) + (sums[2] + sums[3]));
    const double kept = std::clamp(value, -2147483648.0, 2147483647.0);
    if (kept != value) clipped_.fetch_add(1, std::memory_order_relaxed);
    out[channel] = static_cast<int32_t>(kept);
  }
}
