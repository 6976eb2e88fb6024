/** The lock file that serial programs have agreed on since UUCP: LCK..ttyUSB0 with a process id in it. */
#pragma once

#include <string>

#include "failure.h"

/** `path` is empty while no file is held. */
struct UucpLock {
  std::string path;
};

/**
 * Takes the lock of a device by its real path below /dev. A lock of a dead process is taken over; where the folder is
 * missing or may not be written the lock stays empty and nothing fails. EBUSY with the holder otherwise.
 */
Failure takeUucpLock(const std::string& folder, const std::string& devicePath, UucpLock* lock);

void releaseUucpLock(UucpLock* lock);
