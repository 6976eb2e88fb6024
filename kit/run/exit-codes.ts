/** What a process of ours says to the script that started it. */

/** Exit codes of daemons and commands; `plantroom --help` prints them. */
export const exitCodes = {
  /** It did what it was asked. */
  fine: 0,
  /** It failed while it ran, or could not start. */
  failed: 1,
  /** Wrong usage, or settings that were refused; nothing was started or changed. */
  refused: 2,
  /** `status`: a daemon does not run, or does not answer. */
  notRunning: 3,
  /** A mistake in the program; the log says where. */
  crashed: 70,
} as const
