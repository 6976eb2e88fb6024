/** Hands a firmware image to the program that puts it into a slot. */
#pragma once

#include <sys/types.h>

#include <string>

#include "answer.h"
#include "options.h"

/**
 * Runs the installer with the image as its standard input and `/dev/stdin` as its argument, one at a time.
 * @param path a file of the caller's below the state folder
 */
Answer installImage(const Options& options, const std::string& path, uid_t caller);
