/** A node of MS/TP with address 0 that passes the token to one other node and measures how soon that begins to speak. */
#pragma once

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

/** @source ANSI/ASHRAE 135-2016, Annex G.1 */
static unsigned char headerCrcOf(const unsigned char* bytes, size_t length) {
  unsigned char crc = 0xff;
  for (size_t at = 0; at < length; at++) {
    uint16_t value = static_cast<uint16_t>(crc ^ bytes[at]);
    value = static_cast<uint16_t>(value ^ (value << 1) ^ (value << 2) ^ (value << 3) ^ (value << 4) ^ (value << 5) ^
                                  (value << 6) ^ (value << 7));
    crc = static_cast<unsigned char>((value & 0xfe) ^ ((value >> 8) & 1));
  }
  return static_cast<unsigned char>(~crc);
}

static double stampUs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void sayFrame(int line, unsigned char type, unsigned char to) {
  unsigned char frame[] = {0x55, 0xff, type, to, 0, 0, 0, 0};
  frame[7] = headerCrcOf(frame + 2, 5);
  if (write(line, frame, sizeof frame) != sizeof frame) _exit(1);
}

/** One frame header from the line. @param firstUs when its first byte came @returns its type, or -1 after `waitMs` */
static int hearFrame(int line, int waitMs, double* firstUs) {
  unsigned char bytes[8];
  size_t have = 0;
  const double untilUs = stampUs() + waitMs * 1e3;
  while (have < sizeof bytes) {
    const int leftMs = static_cast<int>((untilUs - stampUs()) / 1e3);
    struct pollfd ready = {line, POLLIN, 0};
    if (leftMs <= 0 || poll(&ready, 1, leftMs) <= 0) return -1;
    if (have == 0) *firstUs = stampUs();
    const ssize_t got = read(line, bytes + have, sizeof bytes - have);
    if (got > 0) have += static_cast<size_t>(got);
  }
  return bytes[2];
}

/**
 * Passes `count` tokens. Where the machine allows it this thread goes before all others: what is measured is the other
 * node. A token that nobody used within 100 ms is dropped, and passed again.
 */
static void tokens(int line, int to, size_t count) {
  enum { TOKEN = 0, POLL = 1, POLLED = 2 };
  struct sched_param first = {};
  first.sched_priority = 80;
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
  std::vector<double> tookUs;
  size_t dropped = 0;
  const double startUs = stampUs();
  for (size_t at = 0; at < count; at++) {
    double firstUs = 0;
    const double sentUs = stampUs();
    sayFrame(line, TOKEN, static_cast<unsigned char>(to));
    int heard = hearFrame(line, 100, &firstUs);
    if (heard < 0) dropped++;
    else tookUs.push_back(firstUs - sentUs);
    for (double laterUs; heard >= 0 && heard != TOKEN; heard = hearFrame(line, 100, &laterUs))
      if (heard == POLL) sayFrame(line, POLLED, static_cast<unsigned char>(to));
    usleep(600);  // Tturnaround, 40 bits at 76800 baud
  }
  const double seconds = (stampUs() - startUs) / 1e6;
  std::sort(tookUs.begin(), tookUs.end());
  const size_t late = static_cast<size_t>(
      tookUs.end() - std::upper_bound(tookUs.begin(), tookUs.end(), 15e3));
  const auto of = [&](double share) {
    return tookUs.empty() ? 0 : tookUs[std::min(tookUs.size() - 1, static_cast<size_t>(share * tookUs.size()))];
  };
  printf("{\"rate\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"most\":%.1f,\"late\":%zu,\"dropped\":%zu,\"tokens\":%zu}\n",
         count / seconds, of(0.5), of(0.99), of(1), late, dropped, count);
}
