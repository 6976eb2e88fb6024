/** Opens, locks and sets up a device. */
#pragma once

#include <string>

#include "opened.h"
#include "settings.h"

struct OpenOrder {
  std::string path;
  Settings settings;
  bool lock = true;
  std::string lockFolder;
};

/** Runs on the thread pool. On failure nothing stays open or locked. */
Failure openDevice(const OpenOrder& order, Opened* opened);
