/** What sequence numbers tell of one sender's packets: lost, duplicate, reordered, restarted. @source RFC 3550 A.1, A.3 */
#pragma once

#include <bitset>
#include <cstdint>

/** What one packet is by its number. `misfit`: far from all others, and not yet believed. */
enum class Sequence { next, gap, reordered, duplicate, misfit, restart };

class SequenceAccount {
 public:
  Sequence take(uint16_t sequence);
  /** The next packet begins a new count; what was lost before stays counted. */
  void restart();

  /** Numbers that did not come while so many others behind them did; one that comes after all is taken back. */
  uint64_t lost = 0;
  uint64_t received = 0;
  uint64_t duplicates = 0;
  uint64_t reordered = 0;
  uint64_t restarts = 0;

 private:
  /** A number this far ahead is a restart of the sender rather than a loss. */
  static constexpr int MAX_DROPOUT = 3000;
  /** How far back a packet may come and still be told from its duplicate. */
  static constexpr int WINDOW = 1024;
  /** So many packets are waited for one that others overtook. */
  static constexpr int PATIENCE = 32;

  void begin(uint16_t sequence);
  void advanceTo(int64_t number);
  bool hasSeen(int64_t number) const { return seen.test(static_cast<size_t>(number % WINDOW)); }

  bool hasBegun = false;
  /** Extended by the count of wraps. */
  int64_t first = 0;
  int64_t highest = 0;
  /** The number after a misfit: two in a row are a restart. */
  int nextMisfit = -1;
  std::bitset<WINDOW> seen;
};
