/** Runs another program: no shell, an environment of our own, an end after some time. */
#pragma once

#include <string>
#include <vector>

struct Command {
  std::string program;
  std::vector<std::string> words;
  int seconds = 20;
  /** Becomes its standard input; -1: nothing to read. */
  int input = -1;
};

struct Outcome {
  /** 0 done, or the program's exit code; -1 could not be run; -2 ended by a signal; -3 took too long. */
  int code = 0;
  /** The end of what it printed. */
  std::string said;
};

Outcome runCommand(const Command& command);

/** One sentence on an outcome that is not 0. */
std::string sentenceOf(const Command& command, const Outcome& outcome);
