/** The socket that is listened on. */
#pragma once

#include "options.h"

/** Takes over systemd's socket, or makes one. @returns its descriptor, or -1 after it said why */
int openListening(const Options& options);
