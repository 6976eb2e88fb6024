/** Everything of a macro that is bounded, and by how much. */

/** Settings of the same names in the daemon's configuration. All whole numbers, all positive. */
export interface MacroLimits {
  /** Runs that live at once in the daemon, waiting ones and called ones among them. */
  runs: number
  /** Of one macro that names no max_runs itself: runs that live at once, waiting ones among them. */
  runsPerMacro: number
  /** Steps a macro may have, and steps a run may take, retries and their pauses among them. */
  steps: number
  /** Characters of JSON that all steps of a macro may have together. */
  planChars: number
  /** Runs that one run may call, over all depths. */
  calls: number
  /** How deep macros may call macros; the one that was asked for is at 1. */
  depth: number
  /** Branches of one parallel step. */
  branches: number
  /** Characters of JSON that the args of a run, or the values of one step, may come to. */
  valueChars: number
  /** Characters that what was decided and answered takes in a trace; beyond them only states and times are kept. */
  traceChars: number
  /** Milliseconds for a run of a macro that names no timeout_ms. */
  timeoutMs: number
  /** The longest timeout_ms, delay and wait, in milliseconds. */
  longestMs: number
  /** Milliseconds that a run of a queued macro waits for its turn. */
  queueMs: number
  /** The most retries of a step. */
  retries: number
  /** Milliseconds before the first retry; they double each time. */
  retryFirstMs: number
  /** The longest pause before a retry, in milliseconds. */
  retryMaxMs: number
  /** Milliseconds after which a call is answered though its run goes on. */
  answerMs: number
}

/** The limits a controller has where nobody sets others. @source document 1 leaves macros open; 10 s is the house's */
export const MACRO_LIMITS: MacroLimits = {
  runs: 64,
  runsPerMacro: 10,
  steps: 500,
  planChars: 262_144,
  calls: 64,
  depth: 8,
  branches: 16,
  valueChars: 32_768,
  traceChars: 131_072,
  timeoutMs: 600_000,
  longestMs: 86_400_000,
  queueMs: 60_000,
  retries: 10,
  retryFirstMs: 500,
  retryMaxMs: 30_000,
  answerMs: 10_000,
}
