/** Resampling by a ratio that is almost one, and exact while it is one: what keeps a sound card on the audio clock. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

/**
 * Reads its input at a position that moves by 1 + ppm * 1e-6 frames for each frame of output. Between samples a windowed
 * sinc says what the value is; on a sample the same sinc is exactly that sample. So there is one path and no switch:
 * bypass is a position that has come to rest on a sample, and going there or away is as smooth as the rest.
 */
class Drift {
 public:
  /** Samples of the sinc. Half of them are its delay. */
  static constexpr int TAPS = 64;
  /** Frames by which the output is later than the input. */
  static constexpr int DELAY = TAPS / 2;
  /** How far it may be steered either way. */
  static constexpr double MOST_PPM = 5000;

  explicit Drift(int channels);

  /**
   * Parts per million of input used up beyond the output: above 0 the output has fewer frames. Reached step by step.
   * This and what is asked below may be called from any thread.
   */
  void steer(double ppm);
  /** What it has come to. */
  double ppm() const { return rate_.load(std::memory_order_relaxed) * 1e6; }
  /** On a sample, and staying there: output equals input, bit for bit. */
  bool isExact() const { return exact_.load(std::memory_order_relaxed); }
  /** Samples that are over full scale where they are now looked at, between two of the input, and were cut there. */
  uint64_t clipped() const { return clipped_.load(std::memory_order_relaxed); }

  /** The most frames that `frames` of input become. */
  static size_t mostOut(size_t frames) { return frames + frames / 100 + 2; }
  /**
   * Takes all of the input.
   * @param in interleaved, full scale is 2^31
   * @param out room for mostOut(frames)
   * @returns frames written to out
   */
  size_t run(const int32_t* in, size_t frames, int32_t* out);
  /** Forgets what it has heard; the position stays. */
  void flush();

 private:
  void take(const int32_t* in, size_t frames);
  void moveOn();
  void settle(double rate, bool isExact);
  void writeExact(size_t at, int32_t* out) const;
  void writeBetween(size_t at, int32_t* out);

  int channels_;
  std::atomic<double> target_{0};
  std::atomic<double> rate_{0};
  std::atomic<bool> exact_{true};
  std::atomic<uint64_t> clipped_{0};
  /** Position between the sample in the middle and the next: [0, 1). */
  double fraction_ = 0;
  /** One run of samples per channel, so that the sum over the sinc reads memory in order. */
  std::vector<std::vector<double>> heard_;
  /** Frame in heard_ with which the next output's sinc begins. */
  size_t next_ = 0;
  std::vector<double> sinc_;
};
