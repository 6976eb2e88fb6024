/** What is heard, block after block: the receiver that is routed, its volume, and silence where there is none. */
#pragma once

#include <cstdint>
#include <memory>

#include "gain-ramp.h"
#include "pacer.h"
#include "priority-mutex.h"
#include "receiver.h"
#include "voice.h"

struct PlayoutCounts {
  uint64_t blocks = 0;
  uint64_t lateBlocks = 0;
  uint64_t skippedBlocks = 0;
  uint64_t phaseJumps = 0;
  uint64_t clippedSamples = 0;
  /** CLOCK_MONOTONIC at which the next block is due. */
  int64_t dueNs = 0;
};

/** Settings and counts from any thread; `begin`, `dueNs` and `render` from the one that plays. */
class Playout {
 public:
  /** Null: silence. What was routed before fades out first. */
  void route(std::shared_ptr<Receiver> receiver);
  int routed();
  void setGain(double gain);
  void setMute(bool isMute);
  void setRampNs(int64_t ns);
  void setFadeNs(int64_t ns);
  /** Blocks that are later are left out. */
  void setMostBehindNs(int64_t ns);
  PlayoutCounts counts();

  void begin(GstClock* gstClock, int64_t nowNs);
  int64_t dueNs() const { return pacer.dueNs(); }
  int64_t elapsedFrames() const { return pacer.elapsedFrames(); }
  /** @param output BLOCK_FRAMES frames of `channels` samples @param nowNs CLOCK_MONOTONIC */
  void render(int32_t* output, int channels, int64_t nowNs);

 private:
  struct Settings {
    std::shared_ptr<Receiver> receiver;
    double gain = 1;
    bool isMute = false;
    int rampFrames = 960;
    int fadeFrames = 240;
    int64_t mostBehindNs = MOST_BEHIND_NS;
  };

  void change(const Settings& wanted);

  PriorityMutex setting;
  Settings wanted;
  PlayoutCounts told;

  Pacer pacer;
  GainRamp gain{960};
  std::shared_ptr<Receiver> playing;
  std::unique_ptr<Voice> voice;
  uint64_t blocks = 0;
  uint64_t clipped = 0;
};
