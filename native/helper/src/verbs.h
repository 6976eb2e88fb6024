/** The fixed list of what may be asked. */
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "answer.h"
#include "options.h"

/** What a caller sent. `socket` is the descriptor that came with it, or -1. */
struct Request {
  std::vector<std::string> words;
  int socket = -1;
  uid_t caller = 0;
};

/** Checks every word, then does what is asked. */
Answer carryOut(const Options& options, const Request& request);
