/** Calls of ALSA, and what happens when one is refused. */
#include "card-pcm.h"

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <iterator>

static constexpr unsigned int RATE = 48000;
/** Channels that a card is opened with at most. */
static constexpr unsigned int MOST_CHANNELS = 64;
/** Frames of ours, one second, for which a card takes or gives nothing before it counts as stuck. */
static constexpr int64_t STUCK_FRAMES = RATE;
/** Between two looks at a card that has not captured enough yet. */
static constexpr long LOOK_NS = 500000;
/** In the order in which they are tried: what keeps all bits first. */
static constexpr snd_pcm_format_t FORMATS[] = {SND_PCM_FORMAT_S32_LE, SND_PCM_FORMAT_S24_LE, SND_PCM_FORMAT_S24_3LE,
                                                SND_PCM_FORMAT_S16_LE};

void CardCounts::noteFill(int64_t frames) {
  const std::lock_guard lock(mutex_);
  sum_ += static_cast<double>(frames);
  notes_++;
}

double CardCounts::takeFill() {
  const std::lock_guard lock(mutex_);
  const double mean = notes_ == 0 ? -1 : sum_ / static_cast<double>(notes_);
  sum_ = 0;
  notes_ = 0;
  return mean;
}

static CardFailure failed(const std::string& text, int err) { return {text + ": " + snd_strerror(err), err}; }

static int64_t nowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/** ALSA writes to standard error what it tells by its codes as well. */
static void sayNothing(const char*, int, const char*, int, const char*, ...) {}

CardFailure CardPcm::open(const CardSettings& settings, CardCounts* counts) {
  snd_lib_error_set_handler(sayNothing);
  settings_ = settings;
  counts_ = counts;
  const auto stream = settings.captures ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK;
  const int err = snd_pcm_open(&pcm_, settings.device.c_str(), stream, SND_PCM_NONBLOCK);
  if (err < 0) {
    pcm_ = nullptr;
    return failed("the sound card " + settings.device + " cannot be opened", err);
  }
  CardFailure failure = configure();
  if (!failure.failed()) failure = configureBuffer();
  if (failure.failed()) close();
  return failure;
}

void CardPcm::close() {
  if (pcm_ != nullptr) snd_pcm_close(pcm_);
  pcm_ = nullptr;
  running_ = false;
}

/** The smallest number of channels with room for ours, else the most there are. */
static unsigned int channelsFor(snd_pcm_t* pcm, snd_pcm_hw_params_t* hardware, unsigned int wanted) {
  unsigned int most = wanted;
  snd_pcm_hw_params_get_channels_max(hardware, &most);
  most = std::min(most, MOST_CHANNELS);
  for (unsigned int channels = wanted; channels <= most; channels++) {
    if (snd_pcm_hw_params_test_channels(pcm, hardware, channels) == 0) return channels;
  }
  return most;
}

CardFailure CardPcm::configure() {
  snd_pcm_hw_params_t* hardware;
  snd_pcm_hw_params_alloca(&hardware);
  const std::string card = "the sound card " + settings_.device;
  int err = snd_pcm_hw_params_any(pcm_, hardware);
  if (err < 0) return failed(card + " has no settings", err);
  err = snd_pcm_hw_params_set_access(pcm_, hardware, SND_PCM_ACCESS_RW_INTERLEAVED);
  if (err < 0) return failed(card + " takes no interleaved samples", err);
  const auto format = std::find_if(std::begin(FORMATS), std::end(FORMATS), [&](snd_pcm_format_t each) {
    return snd_pcm_hw_params_test_format(pcm_, hardware, each) == 0;
  });
  if (format == std::end(FORMATS)) return failed(card + " has neither 32, 24 nor 16 bits", -EINVAL);
  format_ = *format;
  err = snd_pcm_hw_params_set_format(pcm_, hardware, format_);
  if (err < 0) return failed(card + " refuses its own format", err);
  err = snd_pcm_hw_params_set_rate(pcm_, hardware, RATE, 0);
  if (err < 0) return failed(card + " does not run at 48 kHz (its plughw: name may)", err);
  layout_.cardChannels = static_cast<int>(channelsFor(pcm_, hardware, static_cast<unsigned int>(settings_.channels)));
  layout_.channels = settings_.channels;
  layout_.bytes = snd_pcm_format_physical_width(format_) / 8;
  layout_.bits = snd_pcm_format_width(format_);
  err = snd_pcm_hw_params_set_channels(pcm_, hardware, static_cast<unsigned int>(layout_.cardChannels));
  if (err < 0) return failed(card + " refuses " + std::to_string(layout_.cardChannels) + " channels", err);
  // Short periods: many cards say where they are once in each.
  snd_pcm_uframes_t period = static_cast<snd_pcm_uframes_t>(std::max(settings_.fillFrames / 2, 16));
  err = snd_pcm_hw_params_set_period_size_near(pcm_, hardware, &period, nullptr);
  if (err < 0) return failed(card + " refuses a period", err);
  bufferFrames_ = static_cast<snd_pcm_uframes_t>(std::max(settings_.bufferFrames, settings_.fillFrames * 4 / 3 + 1));
  err = snd_pcm_hw_params_set_buffer_size_near(pcm_, hardware, &bufferFrames_);
  if (err < 0) return failed(card + " refuses a buffer", err);
  err = snd_pcm_hw_params(pcm_, hardware);
  if (err < 0) return failed(card + " refuses its settings", err);
  // What such a card plays next it has fetched long ago, a period at a time.
  const bool inPeriods = snd_pcm_hw_params_is_batch(hardware) == 1;
  fillFrames_ = std::max(settings_.fillFrames, inPeriods ? static_cast<int>(2 * period) : 0);
  fillFrames_ = std::min(fillFrames_, mostFill());
  return {};
}

CardFailure CardPcm::configureBuffer() {
  snd_pcm_sw_params_t* software;
  snd_pcm_sw_params_alloca(&software);
  const std::string card = "the sound card " + settings_.device;
  int err = snd_pcm_sw_params_current(pcm_, software);
  if (err < 0) return failed(card + " has no buffer settings", err);
  // It is started by us, when it has its fill.
  snd_pcm_uframes_t never = 0;
  snd_pcm_sw_params_get_boundary(software, &never);
  err = snd_pcm_sw_params_set_start_threshold(pcm_, software, never);
  if (err < 0) return failed(card + " refuses to wait for its start", err);
  err = snd_pcm_sw_params(pcm_, software);
  if (err < 0) return failed(card + " refuses its buffer settings", err);
  return {};
}

std::string CardPcm::described() const {
  if (pcm_ == nullptr) return "";
  return std::string(snd_pcm_format_name(format_)) + ", " + std::to_string(layout_.cardChannels) + " channels";
}

CardFailure CardPcm::play(const int32_t* samples, int frames) {
  if (!running_ || counts_->refill.exchange(false)) return startPlaying(samples, frames);
  const snd_pcm_sframes_t room = snd_pcm_avail(pcm_);
  if (room < 0) return recover(static_cast<int>(room));
  counts_->noteFill(static_cast<int64_t>(bufferFrames_) - room);
  if (room < frames) {
    counts_->dropped += static_cast<uint64_t>(frames);
    droppedInARow_ += frames;
    if (droppedInARow_ < STUCK_FRAMES) return {};
    return {"the sound card " + settings_.device + " plays no more", -EIO};
  }
  droppedInARow_ = 0;
  framesSinceStart_ += frames;
  return write(samples, frames);
}

/** With silence before the first samples, as much as makes the fill. */
CardFailure CardPcm::startPlaying(const int32_t* samples, int frames) {
  running_ = false;
  snd_pcm_drop(pcm_);
  int err = snd_pcm_prepare(pcm_);
  if (err < 0) return failed("the sound card " + settings_.device + " cannot be made ready", err);
  CardFailure failure = writeSilence(std::max(fillFrames_ - frames, 0));
  if (!failure.failed()) failure = write(samples, frames);
  if (failure.failed()) return failure;
  err = snd_pcm_start(pcm_);
  if (err < 0) return failed("the sound card " + settings_.device + " does not start", err);
  begun();
  return {};
}

void CardPcm::begun() {
  running_ = true;
  framesSinceStart_ = 0;
  droppedInARow_ = 0;
  counts_->refill = false;
  counts_->takeFill();
  counts_->starts++;
}

CardFailure CardPcm::writeSilence(int frames) {
  const std::vector<int32_t> silence(static_cast<size_t>(frames * settings_.channels));
  return write(silence.data(), frames);
}

CardFailure CardPcm::write(const int32_t* samples, int frames) {
  if (frames == 0) return {};
  bytes_.resize(layout_.sizeOf(frames));
  samplesToCard(layout_, samples, frames, bytes_.data());
  const snd_pcm_sframes_t written = snd_pcm_writei(pcm_, bytes_.data(), static_cast<snd_pcm_uframes_t>(frames));
  if (written < 0 && written != -EAGAIN) return recover(static_cast<int>(written));
  const int64_t taken = std::max<snd_pcm_sframes_t>(written, 0);
  counts_->dropped += static_cast<uint64_t>(frames - taken);
  counts_->frames += static_cast<uint64_t>(taken);
  return {};
}

/** A card that ran dry, over, or slept is started anew with the next samples; anything else is the end of it. */
CardFailure CardPcm::recover(int err) {
  if (err != -EPIPE && err != -ESTRPIPE) return failed("the sound card " + settings_.device + " is gone", err);
  counts_->xruns++;
  // That soon after its start it has fetched more at once than was there: give it more.
  if (running_ && framesSinceStart_ < static_cast<int64_t>(RATE)) fillFrames_ = std::min(fillFrames_ * 3 / 2, mostFill());
  running_ = false;
  return {};
}

CardFailure CardPcm::capture(int32_t* samples, int frames, int waitMs, bool* got) {
  *got = false;
  if (!running_) {
    CardFailure failure = startCapturing();
    if (failure.failed()) return failure;
  }
  snd_pcm_sframes_t there = snd_pcm_avail(pcm_);
  if (counts_->refill.exchange(false)) {
    filling_ = true;
    counts_->starts++;
    counts_->takeFill();
  } else if (!filling_ && there >= 0) {
    counts_->noteFill(there);
  }
  const int64_t endMs = nowMs() + waitMs;
  const int wanted = filling_ ? fillFrames_ : frames;
  while (there >= 0 && there < wanted) {
    if (there != lastThere_) lastMovedMs_ = nowMs();
    lastThere_ = there;
    if (nowMs() - lastMovedMs_ > STUCK_FRAMES * 1000 / RATE) {
      return {"the sound card " + settings_.device + " gives no sound any more", -EIO};
    }
    if (nowMs() >= endMs) return {};
    const struct timespec look = {0, LOOK_NS};
    nanosleep(&look, nullptr);
    there = snd_pcm_avail(pcm_);
  }
  if (there < 0) return recover(static_cast<int>(there));
  lastMovedMs_ = nowMs();
  if (filling_) {
    filling_ = false;
    CardFailure failure = skip(static_cast<int>(there) - wanted, frames);
    if (failure.failed() || !running_) return failure;
  }
  CardFailure failure = read(samples, frames, got);
  if (*got) counts_->frames += static_cast<uint64_t>(frames);
  return failure;
}

CardFailure CardPcm::startCapturing() {
  snd_pcm_drop(pcm_);
  int err = snd_pcm_prepare(pcm_);
  if (err >= 0) err = snd_pcm_start(pcm_);
  if (err < 0) return failed("the sound card " + settings_.device + " does not start", err);
  begun();
  filling_ = true;
  lastMovedMs_ = nowMs();
  return {};
}

/** Throws away what is beyond the fill, in steps of `step` frames. */
CardFailure CardPcm::skip(int frames, int step) {
  std::vector<int32_t> away(static_cast<size_t>(step * settings_.channels));
  for (; frames >= step && running_; frames -= step) {
    bool got = false;
    CardFailure failure = read(away.data(), step, &got);
    if (failure.failed()) return failure;
    if (!got) break;
    counts_->dropped += static_cast<uint64_t>(step);
  }
  return {};
}

CardFailure CardPcm::read(int32_t* samples, int frames, bool* got) {
  bytes_.resize(layout_.sizeOf(frames));
  const snd_pcm_sframes_t taken = snd_pcm_readi(pcm_, bytes_.data(), static_cast<snd_pcm_uframes_t>(frames));
  if (taken == -EAGAIN) return {};
  if (taken < 0) return recover(static_cast<int>(taken));
  if (taken < frames) {
    counts_->dropped += static_cast<uint64_t>(taken);
    return {};
  }
  framesSinceStart_ += frames;
  samplesFromCard(layout_, bytes_.data(), frames, samples);
  *got = true;
  return {};
}
