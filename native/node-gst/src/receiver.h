/**
 * A stream that is being received: its sockets, who reads them, and what is made of them. Whoever plays reads them first,
 * so that a stream costs one wake-up a block; the thread reads while nobody plays. The kernel says when packets came.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "clock.h"
#include "failure.h"
#include "priority-mutex.h"
#include "realtime.h"
#include "receive-socket.h"
#include "reception.h"

struct ReceiverOptions {
  std::shared_ptr<AudioClock> clock;
  std::vector<ReceivePath> paths;
  ReceptionSettings reception;
  int concealPackets = 3;
  int receiveBufferBytes = 0;
  /** 1..99 for the thread; 0: an ordinary one. */
  int realtimePriority = 0;
};

/** Shared by JavaScript and by the element that plays it; after `close` what has been received is still played. */
class Receiver {
 public:
  static std::shared_ptr<Receiver> open(const ReceiverOptions& options, Failure* failure);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /** Takes in what has come. Called before each block that is played. */
  void take();
  /** Leaves the groups and ends the thread; waits for it, which is at once. */
  void close();

  /** Elements name it by this. Never used again. */
  const int id;
  const std::shared_ptr<AudioClock> clock;
  const int concealPackets;
  const std::shared_ptr<Reception> reception;
  const int pathCount;

  Realtime realtime() const;
  /** Bytes that the kernel keeps for the socket with the least. */
  int receiveBufferBytes() const { return bufferBytes; }
  /** Reads that failed. */
  uint64_t errors() const { return errorCount; }

 private:
  struct Batch;

  Receiver(const ReceiverOptions& options, int id, std::shared_ptr<Reception> reception);
  Failure begin(const std::vector<int>& sockets);
  void run(int priority);
  void drainAll();
  int drain(int path);

  int asked;
  int bufferBytes = 0;
  /** Guards sockets and batch. */
  PriorityMutex reading;
  std::vector<int> sockets;
  std::unique_ptr<Batch> batch;
  /** Since the thread last looked. */
  std::atomic<bool> isPlayed{false};
  int stopper = -1;
  std::thread thread;
  std::atomic<int> realtimeError{-1};
  std::atomic<uint64_t> errorCount{0};
};

/** The receiver that JavaScript opened under that number; null where there is none, or none any more. */
std::shared_ptr<Receiver> receiverOf(int id);
