/** One question to a program that listens on a unix socket, with a descriptor where it needs one. */
#pragma once

#include <string>

#include "failure.h"

/** A question. `fd` is a copy that is ours, or -1. */
struct Question {
  std::string path;
  std::string line;
  int fd = -1;
  int timeoutMs = 0;
  size_t mostBytes = 0;
};

/** Blocks, within the time. `answer` is what came until the other end closed; EMSGSIZE where it is longer than allowed. */
Failure ask(const Question& question, std::string* answer);
