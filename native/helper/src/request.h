/** One connection: one line in, one line out. */
#pragma once

#include <sys/types.h>

#include "options.h"

/** Reads the request of a caller who may ask, has it carried out, answers. Does not close the connection. */
void serve(const Options& options, int connection, uid_t caller);
