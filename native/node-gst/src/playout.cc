/** Settings are taken over once a block, so that whoever sets them never waits for sound, nor sound for them. */
#include "playout.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "audio-time.h"

using Lock = std::lock_guard<PriorityMutex>;

static int framesOfNs(int64_t ns) { return std::max(1, static_cast<int>(frameAt(ns))); }

void Playout::route(std::shared_ptr<Receiver> receiver) {
  Lock lock(setting);
  // Swapped, so that a receiver that nobody else has is closed after the lock is gone.
  wanted.receiver.swap(receiver);
}

int Playout::routed() {
  Lock lock(setting);
  return wanted.receiver ? wanted.receiver->id : 0;
}

void Playout::setGain(double gain) {
  Lock lock(setting);
  wanted.gain = gain;
}

void Playout::setMute(bool isMute) {
  Lock lock(setting);
  wanted.isMute = isMute;
}

void Playout::setRampNs(int64_t ns) {
  Lock lock(setting);
  wanted.rampFrames = framesOfNs(ns);
}

void Playout::setFadeNs(int64_t ns) {
  Lock lock(setting);
  wanted.fadeFrames = framesOfNs(ns);
}

void Playout::setMostBehindNs(int64_t ns) {
  Lock lock(setting);
  wanted.mostBehindNs = ns;
}

PlayoutCounts Playout::counts() {
  Lock lock(setting);
  return told;
}

void Playout::begin(GstClock* gstClock, int64_t nowNs) {
  pacer.begin(gstClock, nowNs);
  if (playing) pacer.follow(playing->clock);
}

void Playout::change(const Settings& next) {
  gain.setFrames(next.rampFrames);
  double level = next.isMute ? 0 : next.gain;
  // Nothing is heard yet: what begins now begins as loud as it is to be.
  if (!voice) gain.jumpTo(level);
  else gain.moveTo(level);
  if (next.receiver == playing) {
    if (voice) voice->stay();
    return;
  }
  if (voice) {
    voice->leave();
    if (!voice->isGone()) return;
  }
  playing = next.receiver;
  voice = playing ? std::make_unique<Voice>(playing->reception, next.fadeFrames, playing->concealPackets) : nullptr;
  pacer.follow(playing ? playing->clock : nullptr);
}

void Playout::render(int32_t* output, int channels, int64_t nowNs) {
  Settings next;
  {
    Lock lock(setting);
    next = wanted;
  }
  pacer.mostBehindNs = next.mostBehindNs;
  change(next);
  if (playing) playing->take();
  if (voice) voice->render(pacer.frame(), BLOCK_FRAMES, output, channels);
  else std::fill(output, output + BLOCK_FRAMES * channels, 0);
  clipped += gain.apply(output, BLOCK_FRAMES, channels);
  pacer.advance(nowNs);
  blocks++;
  Lock lock(setting);
  told = {blocks, pacer.lateBlocks, pacer.skippedBlocks, pacer.phaseJumps, clipped, pacer.dueNs()};
}
