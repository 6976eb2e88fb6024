/** Gives a thread real-time priority and takes it back. */
#include "realtime.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

int enterRealtime(int priority) {
  prctl(PR_SET_TIMERSLACK, 1);
  sched_param param{};
  param.sched_priority = priority;
  // Reset on fork: a child of this thread must not run at real-time priority.
  return pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

void leaveRealtime() {
  // 0 is the slack that the thread was born with.
  prctl(PR_SET_TIMERSLACK, 0);
  sched_param param{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
}
