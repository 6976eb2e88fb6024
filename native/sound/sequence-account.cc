/** A window of numbers seen, below the highest one. */
#include "sequence-account.h"

void SequenceAccount::begin(uint16_t sequence) {
  hasBegun = true;
  // Two laps up, so that what came before the first one, and what is waited for, have numbers above zero.
  first = highest = 0x20000 + sequence;
  nextMisfit = -1;
  seen.reset();
  seen.set(static_cast<size_t>(highest % WINDOW));
}

void SequenceAccount::restart() {
  for (int64_t number = highest - PATIENCE + 1; hasBegun && number <= highest; number++)
    if (number >= first && !hasSeen(number)) lost++;
  hasBegun = false;
}

/** One number after the other: each is new, and one that was waited for is given up. */
void SequenceAccount::advanceTo(int64_t number) {
  while (highest < number) {
    highest++;
    seen.reset(static_cast<size_t>(highest % WINDOW));
    int64_t waitedFor = highest - PATIENCE;
    if (waitedFor >= first && !hasSeen(waitedFor)) lost++;
  }
}

Sequence SequenceAccount::take(uint16_t sequence) {
  received++;
  if (!hasBegun) {
    begin(sequence);
    return Sequence::next;
  }
  int step = static_cast<int16_t>(sequence - static_cast<uint16_t>(highest));
  if (step >= MAX_DROPOUT || step <= -WINDOW) {
    bool isSecond = nextMisfit == sequence;
    nextMisfit = (sequence + 1) & 0xffff;
    if (!isSecond) return Sequence::misfit;
    restart();
    restarts++;
    begin(sequence);
    return Sequence::restart;
  }
  nextMisfit = -1;
  int64_t number = highest + step;
  bool isGap = step > 1;
  if (step > 0) {
    advanceTo(number);
    seen.set(static_cast<size_t>(number % WINDOW));
    return isGap ? Sequence::gap : Sequence::next;
  }
  if (hasSeen(number)) {
    duplicates++;
    return Sequence::duplicate;
  }
  // What came before the first one was never missed.
  if (number >= first && number <= highest - PATIENCE) lost--;
  seen.set(static_cast<size_t>(number % WINDOW));
  reordered++;
  return Sequence::reordered;
}
