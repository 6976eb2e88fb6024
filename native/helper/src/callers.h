/** Who is at the other end of a connection, by the kernel's word. */
#pragma once

#include <sys/types.h>

#include "options.h"

/** Whether the caller may ask: root, or one of the users and groups that the helper was started for. */
bool mayAsk(const Options& options, int connection, uid_t* caller);
