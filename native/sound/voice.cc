/** Link offset, changes of the stream and of the route become fades here; lost packets are the concealer's. */
#include "voice.h"

#include <algorithm>
#include <utility>

#include "audio-time.h"
#include "gain-ramp.h"

/** Frames of a link offset, to the nearest. */
static int64_t framesOfLink(int64_t linkNs) { return frameAt(linkNs + NS_PER_SECOND / SAMPLE_RATE / 2); }

/** A mono stream goes to all channels; of others the first ones, and what the stream lacks is silent. */
static void spread(const int32_t* from, int has, int32_t* to, int wants) {
  if (has == 1) {
    std::fill(to, to + wants, from[0]);
    return;
  }
  int both = std::min(has, wants);
  std::copy(from, from + both, to);
  std::fill(to + both, to + wants, 0);
}

Voice::Voice(std::shared_ptr<Reception> given, int fadeFrames, int concealPackets)
    : reception(std::move(given)),
      fadeFrames(fadeFrames),
      concealPackets(concealPackets),
      linkFrames(framesOfLink(reception->linkNs())),
      fade(fadeFrames),
      samples(static_cast<size_t>(MOST_CHANNELS) * MOST_BLOCK_FRAMES),
      ahead(static_cast<size_t>(MOST_CHANNELS)) {
  fade.open();
}

void Voice::followLink() {
  int64_t wanted = framesOfLink(reception->linkNs());
  isMoving = wanted != linkFrames;
  if (!isMoving || !fade.isClosed()) return;
  linkFrames = wanted;
  isMoving = false;
}

/** Another number of channels waits until what was has been faded out. */
void Voice::fit(const PlayedBlock& block) {
  bool isOther = !concealer || concealer->channels != block.channels;
  if (block.epoch != epoch && !isOther) concealer->jump();
  if (isOther && concealer && !concealer->isSilent()) {
    std::fill(present, present + MOST_BLOCK_FRAMES, false);
    return;
  }
  if (isOther) concealer = std::make_unique<Concealer>(block.channels, fadeFrames);
  epoch = block.epoch;
}

void Voice::render(int64_t frame, int frames, int32_t* output, int channels) {
  followLink();
  int64_t media = frame - linkFrames;
  PlayedBlock block = reception->play(media, frames, samples.data(), present, ahead.data());
  if (block.channels == 0) {
    std::fill(output, output + frames * channels, 0);
    // Nothing was ever heard: there is nothing to fade.
    if (isLeaving || isMoving) fade.close();
    return;
  }
  fit(block);
  // A place that the link offset moved to is not heard: the fade is closed.
  bool isHeardJump = media != nextFrame && !concealer->isSilent() && !fade.isClosed();
  if (media != nextFrame) concealer->jump();
  nextFrame = media + frames;
  bool isSame = concealer->channels == block.channels;
  GoodAhead good{isSame ? block.aheadFrames : -1, ahead.data()};
  Concealed done = concealer->process(samples.data(), present, frames, concealPackets * block.framesPerPacket, good);
  if (isHeardJump) done.breaks++;
  reception->played(done);
  uint64_t clipped = 0;
  for (int at = 0; at < frames; at++, output += channels) {
    spread(samples.data() + at * concealer->channels, concealer->channels, output, channels);
    if (isLeaving || isMoving) fade.down();
    else fade.up();
    if (fade.isOpen()) continue;
    for (int channel = 0; channel < channels; channel++)
      output[channel] = clippedSample(output[channel] * fade.gain(), &clipped);
  }
}
