/** Keys of the tables `people` and `letters` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'

/** Sessions, codes and nonces. */
export const peopleKeys = Type.Object(
  {
    sessions: count('', 4096, [16, 65_536], 'tokens at once, and sessions of the page at once'),
    ui_session_ms: count('ms', 43_200_000, [60_000, 2_592_000_000], 'the longest session of the page'),
    nonces: count('', 1024, [16, 65_536], 'handoff nonces at once'),
    mail_again_ms: count(
      'ms',
      30_000,
      [1000, 600_000],
      'wait before another mail while a code is accepted, or was voided',
    ),
    misses: count('', 5, [1, 20], 'wrong codes that void a code'),
    late_answers: count('', 16, [1, 256], 'sign-ins of a network that are looked at, or were wrong and wait'),
    queue_of_one: count('', 64, [1, 4096], 'sign-ins of a network that wait for that; further ones are answered 503'),
    password_workers: count('', 1, [1, 8], 'passwords compared at once'),
    password_queue: count('', 256, [1, 4096], 'sign-ins that wait in all; further ones are answered 503'),
    free_tries: count('', 100, [3, 10_000], 'wrong sign-ins of a network or an account before answers come late'),
    wait_ms: count('ms', 250, [10, 60_000], 'the first such wait; doubles with each further one'),
    wait_max_ms: count('ms', 5000, [100, 600_000], 'the longest'),
    forget_ms: count('ms', 600_000, [1000, 86_400_000], 'after so long without a wrong one all is forgotten'),
    tries_table: count('', 4096, [16, 1_000_000], 'networks and accounts of which wrong sign-ins are remembered'),
    homes: count('', 512, [16, 16_384], 'networks from which an account has signed in, remembered in all'),
  },
  { additionalProperties: false, default: {}, description: 'who signs in' },
)

/** Letters that wait for the mail server. */
export const letterKeys = Type.Object(
  {
    letters: count('', 64, [1, 1024], 'letters kept at once'),
    at_once: count('', 2, [1, 8], 'letters handed to the server at once'),
    attempt_ms: count('ms', 20_000, [1000, 120_000], 'the longest one try takes'),
    first_ms: count('ms', 1000, [100, 600_000], 'wait before the second try; doubles each time'),
    max_ms: count('ms', 30_000, [100, 600_000], 'longest wait between tries'),
  },
  { additionalProperties: false, default: {}, description: 'mail on its way' },
)
