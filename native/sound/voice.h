/** One reception as it is played: block after block of the output's channels, without clicks. */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "concealer.h"
#include "fade.h"
#include "reception.h"

/** Most frames that are rendered at once: 1 ms. */
static const int MOST_BLOCK_FRAMES = 48;

class Voice {
 public:
  /** @param concealPackets lost packets in a row that are stood in for */
  Voice(std::shared_ptr<Reception> reception, int fadeFrames, int concealPackets);

  /**
   * @param frame of the clock that is played now @param frames at most MOST_BLOCK_FRAMES
   * @param output interleaved, `channels` samples a frame, written over
   */
  void render(int64_t frame, int frames, int32_t* output, int channels);
  /** Fades out from here on. */
  void leave() { isLeaving = true; }
  /** Wanted after all. */
  void stay() { isLeaving = false; }
  /** Says nothing any more. */
  bool isGone() const { return isLeaving && fade.isClosed(); }

 private:
  void followLink();
  void fit(const PlayedBlock& block);

  const std::shared_ptr<Reception> reception;
  const int fadeFrames;
  const int concealPackets;
  /** Null until the stream's channels are known. */
  std::unique_ptr<Concealer> concealer;
  uint64_t epoch = 0;
  /** From media time to playing; another link is taken while the fade is closed. */
  int64_t linkFrames;
  bool isMoving = false;
  int64_t nextFrame = 0;
  Fade fade;
  bool isLeaving = false;
  std::vector<int32_t> samples;
  std::vector<int32_t> ahead;
  bool present[MOST_BLOCK_FRAMES];
};
