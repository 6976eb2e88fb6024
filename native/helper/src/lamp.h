/** The lamps of the machine. */
#pragma once

#include <string>

#include "answer.h"
#include "options.h"

/** Has a trigger of the kernel drive a lamp, or leaves it at a brightness where the trigger is `none`. */
Answer setLamp(const Options& options, const std::string& lamp, const std::string& trigger, const std::string& brightness);
