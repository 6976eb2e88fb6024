/** Makes a pseudo terminal. */
#pragma once

#include <string>

#include "opened.h"

/** A pty in raw mode with both ends open; `path` is the device end's name. */
Failure makePty(Opened* opened, std::string* path);
