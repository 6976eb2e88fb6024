/** Keys of the table `macros` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'
import { MACRO_LIMITS } from './macros/limits.ts'

/** What a macro may cost. */
export const macroKeys = Type.Object(
  {
    runs: count('', MACRO_LIMITS.runs, [1, 4096], 'runs that live at once'),
    runs_per_macro: count('', MACRO_LIMITS.runsPerMacro, [1, 256], 'of one macro that names no max_runs'),
    steps: count('', MACRO_LIMITS.steps, [1, 10_000], 'steps of a macro, and steps a run takes'),
    plan_chars: count(
      '',
      MACRO_LIMITS.planChars,
      [1024, 4_194_304],
      'characters of JSON of all steps of a macro, 16 more for each list, 48 for each object',
    ),
    calls: count('', MACRO_LIMITS.calls, [1, 4096], 'runs that one run may call, over all depths'),
    depth: count('', MACRO_LIMITS.depth, [1, 32], 'how deep macros may call macros'),
    branches: count('', MACRO_LIMITS.branches, [1, 256], 'branches of a parallel step'),
    value_chars: count(
      '',
      MACRO_LIMITS.valueChars,
      [256, 1_048_576],
      'characters of JSON of the args of a run, counted alike',
    ),
    trace_chars: count('', MACRO_LIMITS.traceChars, [1024, 4_194_304], 'characters of a trace, counted alike'),
    timeout_ms: count('ms', MACRO_LIMITS.timeoutMs, [100, 86_400_000], 'for a macro that names no timeout_ms'),
    longest_ms: count('ms', MACRO_LIMITS.longestMs, [1000, 604_800_000], 'longest timeout_ms, delay and wait'),
    queue_ms: count('ms', MACRO_LIMITS.queueMs, [100, 86_400_000], 'how long a run waits for its turn'),
    retries: count('', MACRO_LIMITS.retries, [0, 100], 'most retries of a step'),
    retry_first_ms: count('ms', MACRO_LIMITS.retryFirstMs, [1, 60_000], 'wait before the first; doubles each time'),
    retry_max_ms: count('ms', MACRO_LIMITS.retryMaxMs, [1, 600_000], 'longest wait before a retry'),
    answer_ms: count(
      'ms',
      MACRO_LIMITS.answerMs,
      [100, 60_000],
      'after so long a call is answered while its run goes on',
    ),
  },
  { additionalProperties: false, default: {}, description: 'macros' },
)
