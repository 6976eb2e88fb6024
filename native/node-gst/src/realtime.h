/** Real-time priority of the calling thread. */
#pragma once

#include <string>

/** What was asked for and whether threads have it. `asked` 0: nothing was. */
struct Realtime {
  int asked = 0;
  bool isGranted = false;
  /** Of the first refusal: EPERM where LimitRTPRIO does not allow it; 0: none. */
  int err = 0;
};

/**
 * SCHED_FIFO with `priority` 1..99, and a timer slack of 1 ns, so that absolute sleeps end when they should (the kernel
 * adds 50 us to those of ordinary threads).
 * @returns 0, or the errno of sched_setscheduler
 */
int enterRealtime(int priority);

/** Back to an ordinary thread: GStreamer gives its threads to the next task. */
void leaveRealtime();
