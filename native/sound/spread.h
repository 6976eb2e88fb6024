/** The spread of a figure over the last packets: kept by one thread, looked at by another, without a lock. */
#pragma once

#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

/** Half, 99 of a hundred, and all of the values are at most this. */
struct Quantiles {
  int64_t p50 = 0;
  int64_t p99 = 0;
  int64_t max = 0;
  /** How many values it is of; the others say nothing where it is 0. */
  size_t count = 0;
};

/** A ring of the last values. One writer. */
class Spread {
 public:
  explicit Spread(size_t length) : length(length), values(new std::atomic<int64_t>[length]) {}

  void add(int64_t value) {
    uint64_t at = added.load(std::memory_order_relaxed);
    values[at % length].store(value, std::memory_order_relaxed);
    added.store(at + 1, std::memory_order_release);
  }

  Quantiles quantiles() const {
    size_t count = std::min<uint64_t>(added.load(std::memory_order_acquire), length);
    if (count == 0) return {};
    std::vector<int64_t> sorted(count);
    for (size_t i = 0; i < count; i++) sorted[i] = values[i].load(std::memory_order_relaxed);
    std::sort(sorted.begin(), sorted.end());
    return {sorted[(count - 1) / 2], sorted[(count - 1) * 99 / 100], sorted[count - 1], count};
  }

 private:
  const size_t length;
  std::unique_ptr<std::atomic<int64_t>[]> values;
  std::atomic<uint64_t> added{0};
};
