/** A sound card's PCM device as ALSA has it: opened for 48 kHz, its channels and bits mapped to ours, its buffer watched. */
#pragma once

#include <alsa/asoundlib.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "card-samples.h"

/** What a device is opened with. */
struct CardSettings {
  std::string device;
  bool captures = false;
  /** Channels on our side. */
  int channels = 2;
  /** Frames meant to be in the buffer, and room of the buffer. */
  int fillFrames = 240;
  int bufferFrames = 1920;
};

/** A call that failed; `err` is ALSA's, an errno below 0. */
struct CardFailure {
  std::string text;
  int err = 0;

  bool failed() const { return err != 0; }
};

/** What may be asked from any thread. */
struct CardCounts {
  std::atomic<uint64_t> starts{0};
  std::atomic<uint64_t> xruns{0};
  /** Frames that were thrown away. */
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> frames{0};
  /** Asks for a fresh fill. */
  std::atomic<bool> refill{false};

  void noteFill(int64_t frames);
  /** Mean since the last call; -1 where nothing was noted. */
  double takeFill();

 private:
  std::mutex mutex_;
  double sum_ = 0;
  uint64_t notes_ = 0;
};

/** Used by one thread; waits in capture alone. Samples on our side are 32 bits, full scale is 2^31. */
class CardPcm {
 public:
  CardPcm() = default;
  ~CardPcm() { close(); }
  CardPcm(const CardPcm&) = delete;
  CardPcm& operator=(const CardPcm&) = delete;

  /** @param counts has to outlive the device */
  CardFailure open(const CardSettings& settings, CardCounts* counts);
  void close();

  /** Plays `frames`; what the card has no room for is thrown away and counted. */
  CardFailure play(const int32_t* samples, int frames);
  /** Captures `frames`: all, with `got`, or none where they are not there within `waitMs`. */
  CardFailure capture(int32_t* samples, int frames, int waitMs, bool* got);

  /** For people: "S32_LE, 2 channels"; empty while it is closed. */
  std::string described() const;

 private:
  CardFailure configure();
  CardFailure configureBuffer();
  CardFailure recover(int err);
  CardFailure startPlaying(const int32_t* samples, int frames);
  CardFailure startCapturing();
  void begun();
  CardFailure write(const int32_t* samples, int frames);
  CardFailure writeSilence(int frames);
  CardFailure read(int32_t* samples, int frames, bool* got);
  CardFailure skip(int frames, int step);
  /** Some room is left free in any case, for what comes next. */
  int mostFill() const { return static_cast<int>(bufferFrames_ * 3 / 4); }

  CardSettings settings_;
  CardCounts* counts_ = nullptr;
  snd_pcm_t* pcm_ = nullptr;
  snd_pcm_format_t format_ = SND_PCM_FORMAT_S32_LE;
  CardLayout layout_;
  snd_pcm_uframes_t bufferFrames_ = 0;
  int fillFrames_ = 0;
  bool running_ = false;
  /** It is waited until a capturing card has its fill. */
  bool filling_ = false;
  int64_t framesSinceStart_ = 0;
  int64_t droppedInARow_ = 0;
  snd_pcm_sframes_t lastThere_ = 0;
  int64_t lastMovedMs_ = 0;
  std::vector<uint8_t> bytes_;
};
