/** All of the controller's own tables of controller.toml: each key with type, default, range and description. */
import { type Static, Type } from 'typebox'
import { MACRO_LIMITS, type MacroLimits } from './macros/values.ts'

// Helpers: a bounded number as a key, and a table of keys as limits for the code.

/** An integer with a unit; `''` for a count. */
export function countKey(
  unit: '' | 'ms' | 's' | 'days' | 'bytes',
  byDefault: number,
  [minimum, maximum]: readonly [number, number],
  description: string,
) {
  return Type.Integer({ default: byDefault, minimum, maximum, ...(unit === '' ? {} : { unit }), description })
}

type Camelled<Key extends string> = Key extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Camelled<Rest>>}`
  : Key

/** A table of settings in camel case: `commit_ms` becomes `commitMs`. */
type AsLimits<Table> = { [Key in keyof Table as Key extends string ? Camelled<Key> : never]: Table[Key] }

export function limitsOf<Table extends Readonly<Record<string, unknown>>>(table: Table): AsLimits<Table> {
  const entries = Object.entries(table).map(([key, value]) => [
    key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries)
}

// Tables `store` and `site`.

/** How a site is stored. */
export const storeKeys = Type.Object(
  {
    commit_ms: countKey('ms', 20, [1, 200], 'changes are gathered for so long before they are written together'),
    busy_ms: countKey('ms', 5000, [100, 60_000], 'how long another process may hold the database'),
    records: countKey('', 1000, [10, 100_000], 'runs of macros kept in memory'),
    record_chars: countKey(
      '',
      16_777_216,
      [1_048_576, 1_073_741_824],
      'characters of those with their traces, 16 for each value beside its text; beyond, the oldest that have ended are on the disk alone',
    ),
    undo_chars: countKey(
      '',
      1_000_000,
      [0, 50_000_000],
      'characters of the changes that undo the last Apply All; more of them cannot be undone',
    ),
    kept_records: countKey('', 10_000, [10, 1_000_000], 'runs of macros kept on the disk; the oldest go first'),
    faults: countKey('', 100, [1, 10_000], 'faults that are told when waiting changes do not fit any more'),
  },
  { additionalProperties: false, default: {}, description: 'the database of the site' },
)

/** Limits for a site file. */
export const siteKeys = Type.Object(
  {
    bytes: countKey('bytes', 67_108_864, [1024, 1_073_741_824], 'the largest site file'),
    rows: countKey('', 250_000, [10, 5_000_000], 'rows of all tables of a site file, and of a site, together'),
    devices: countKey('', 65_536, [10, 5_000_000], 'devices of a site'),
    json_chars: countKey(
      '',
      16_777_216,
      [1024, 1_073_741_824],
      'characters of all JSON columns of a site, 16 for each value and each name beside its text',
    ),
    depth: countKey('', 32, [4, 256], 'levels of a JSON column'),
    text_chars: countKey('', 262_144, [1024, 16_777_216], 'characters of a text, and of a JSON column'),
    faults: countKey('', 200, [1, 10_000], 'faults of a site file that are told; more are counted'),
  },
  { additionalProperties: false, default: {}, description: 'what a site file may hold' },
)

/** Heap of the thread that writes the site. Changes of a whole site come as one message. */
export const WRITER_HEAP_MIB = { old: 384, young: 16 }

// Tables `people` and `letters`.

/** Sessions, codes and nonces. */
export const peopleKeys = Type.Object(
  {
    sessions: countKey('', 4096, [16, 65_536], 'tokens at once, and sessions of the page at once'),
    ui_session_ms: countKey('ms', 43_200_000, [60_000, 2_592_000_000], 'the longest session of the page'),
    nonces: countKey('', 1024, [16, 65_536], 'handoff nonces at once'),
    mail_again_ms: countKey(
      'ms',
      30_000,
      [1000, 600_000],
      'wait before another mail while a code is accepted, or was voided',
    ),
    misses: countKey('', 5, [1, 20], 'wrong codes that void a code'),
    late_answers: countKey('', 16, [1, 256], 'sign-ins of a network that are looked at, or were wrong and wait'),
    queue_of_one: countKey(
      '',
      64,
      [1, 4096],
      'sign-ins of a network that wait for that; further ones are answered 503',
    ),
    password_workers: countKey('', 1, [1, 8], 'passwords compared at once'),
    favourites: countKey('', 48, [1, 500], 'zones and macros that one person may have among the favourites'),
    favourites_in_all: countKey('', 20_000, [1, 1_000_000], 'favourites of all people together'),
    password_queue: countKey('', 256, [1, 4096], 'sign-ins that wait in all; further ones are answered 503'),
    free_tries: countKey('', 100, [3, 10_000], 'wrong sign-ins of a network or an account before answers come late'),
    wait_ms: countKey('ms', 250, [10, 60_000], 'the first such wait; doubles with each further one'),
    wait_max_ms: countKey('ms', 5000, [100, 600_000], 'the longest'),
    forget_ms: countKey('ms', 600_000, [1000, 86_400_000], 'after so long without a wrong one all is forgotten'),
    tries_table: countKey('', 4096, [16, 1_000_000], 'networks and accounts of which wrong sign-ins are remembered'),
    pin_tries: countKey('', 5, [3, 100], 'wrong PINs in a row before the PIN of an account rests'),
    pin_rest_ms: countKey('ms', 900_000, [1000, 86_400_000], 'how long it rests at first; doubles each time'),
    pin_rest_max_ms: countKey('ms', 86_400_000, [1000, 604_800_000], 'the longest'),
    homes: countKey('', 512, [16, 16_384], 'networks from which an account has signed in, remembered in all'),
  },
  { additionalProperties: false, default: {}, description: 'who signs in' },
)

/** The mail queue. */
export const letterKeys = Type.Object(
  {
    letters: countKey('', 64, [1, 1024], 'letters kept at once'),
    at_once: countKey('', 2, [1, 8], 'letters handed to the server at once'),
    attempt_ms: countKey('ms', 20_000, [1000, 120_000], 'the longest one try takes'),
    first_ms: countKey('ms', 1000, [100, 600_000], 'wait before the second try; doubles each time'),
    max_ms: countKey('ms', 30_000, [100, 600_000], 'longest wait between tries'),
  },
  { additionalProperties: false, default: {}, description: 'mail on its way' },
)

// Table `smtp`.

/** How mail with two-factor codes and notifications leaves the box. */
export const mailKeys = Type.Object(
  {
    host: Type.String({
      default: '',
      maxLength: 253,
      description: 'the mail server; empty means that no mail is sent',
    }),
    port: Type.Integer({ default: 587, minimum: 1, maximum: 65_535, description: 'its port' }),
    tls: Type.Enum(['offered', 'required', 'from_start', 'none'], {
      default: 'offered',
      description:
        'offered: STARTTLS where the server has it; required: or nothing is sent; from_start: as on port 465',
    }),
    from: Type.String({ default: '', maxLength: 320, description: 'sender of every mail' }),
    username: Type.String({ default: '', maxLength: 320, description: 'who signs in there; empty means nobody' }),
    password_file: Type.String({ default: '', maxLength: 4096, description: 'file that holds the password alone' }),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'PEM file of certificate authorities trusted for the mail server besides the usual ones; where one is named, the certificate must be right; empty for none',
    }),
    timeout_ms: Type.Integer({
      default: 15_000,
      minimum: 1000,
      maximum: 300_000,
      unit: 'ms',
      description: 'time that the server has for each answer',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the mail server' },
)

// Table `data`.

/** Limits on one query. */
export const dataKeys = Type.Object(
  {
    query_bytes: countKey('bytes', 16_384, [256, 65_536], 'the longest query string'),
    conditions: countKey('', 64, [1, 1024], 'conditions of one query'),
    depth: countKey('', 4, [1, 16], 'how deep _or may stand in _or'),
    list_items: countKey('', 1000, [1, 10_000], 'values of one condition'),
    pattern_chars: countKey('', 1000, [1, 16_384], 'characters of one pattern of _like or _contains'),
    ordered_rows: countKey(
      '',
      100_000,
      [10_000, 1_000_000],
      'rows of a history that are kept while they are put in order',
    ),
    turn_ms: countKey('ms', 10, [1, 1000], 'how long queries work before others have their turn'),
    queries: countKey('', 64, [1, 4096], 'queries of one account that are worked on; further ones are answered 503'),
    side_by_side: countKey('', 4, [1, 64], 'queries of one account that take turns; the others wait for one to end'),
    ready_bytes: countKey(
      'bytes',
      67_108_864,
      [1_048_576, 1_073_741_824],
      'rows that were asked for and stand ready as JSON for the next who asks',
    ),
    making_bytes: countKey(
      'bytes',
      67_108_864,
      [1_048_576, 1_073_741_824],
      'answers of all accounts while they are made, and rows that are kept for them; beyond, the longest of the account with most is answered 503',
    ),
  },
  { additionalProperties: false, default: {}, description: 'reading over GET /api/data' },
)

// Table `macros`.

/** Limits on macros. */
export const macroKeys = Type.Object(
  {
    runs: countKey('', MACRO_LIMITS.runs, [1, 4096], 'runs that live at once'),
    user_runs: countKey('', 16, [1, 4096], 'of those, runs that one user has asked for'),
    runs_per_macro: countKey('', MACRO_LIMITS.runsPerMacro, [1, 256], 'of one macro that names no max_runs'),
    steps: countKey('', MACRO_LIMITS.steps, [1, 10_000], 'steps of a macro, and steps a run takes'),
    plan_chars: countKey(
      '',
      MACRO_LIMITS.planChars,
      [1024, 4_194_304],
      'characters of JSON of all steps of a macro, 16 more for each list, 48 for each object',
    ),
    calls: countKey('', MACRO_LIMITS.calls, [1, 4096], 'runs that one run may call, over all depths'),
    depth: countKey('', MACRO_LIMITS.depth, [1, 32], 'how deep macros may call macros'),
    branches: countKey('', MACRO_LIMITS.branches, [1, 256], 'branches of a parallel step'),
    value_chars: countKey(
      '',
      MACRO_LIMITS.valueChars,
      [256, 1_048_576],
      'characters of JSON of the args of a run, counted alike',
    ),
    trace_chars: countKey('', MACRO_LIMITS.traceChars, [1024, 4_194_304], 'characters of a trace, counted alike'),
    timeout_ms: countKey('ms', MACRO_LIMITS.timeoutMs, [100, 86_400_000], 'for a macro that names no timeout_ms'),
    longest_ms: countKey('ms', MACRO_LIMITS.longestMs, [1000, 604_800_000], 'longest timeout_ms, delay and wait'),
    queue_ms: countKey('ms', MACRO_LIMITS.queueMs, [100, 86_400_000], 'how long a run waits for its turn'),
    retries: countKey('', MACRO_LIMITS.retries, [0, 100], 'most retries of a step'),
    retry_first_ms: countKey('ms', MACRO_LIMITS.retryFirstMs, [1, 60_000], 'wait before the first; doubles each time'),
    retry_max_ms: countKey('ms', MACRO_LIMITS.retryMaxMs, [1, 600_000], 'longest wait before a retry'),
    answer_ms: countKey(
      'ms',
      MACRO_LIMITS.answerMs,
      [100, 60_000],
      'after so long a call is answered while its run goes on',
    ),
    house_runs: countKey('', 32, [1, 4096], 'runs of schedules and triggers that live at once; others wait'),
    house_waiting: countKey('', 256, [0, 65_536], 'of those that wait; further ones are refused'),
    letters_per_hour: countKey('', 60, [1, 10_000], 'letters that macros send within an hour'),
    letter_ms: countKey('ms', 3_600_000, [1000, 86_400_000], 'how long such a letter is tried'),
  },
  { additionalProperties: false, default: {}, description: 'macros' },
)

/** The limits of runs, which their traces name; the other keys are those of what starts them and of what they tell. */
export function macroLimitsOf(table: Static<typeof macroKeys>): MacroLimits {
  const { house_runs: _, house_waiting: __, letters_per_hour: ___, letter_ms: ____, user_runs: _____, ...own } = table
  return limitsOf(own)
}

// Table `ui`.

/** How much of the building a page receives, and how often. */
export const uiKeys = Type.Object(
  {
    coalesce_ms: countKey('ms', 50, [10, 10_000], 'changes are gathered for so long before a page is told'),
    beat_ms: countKey('ms', 2000, [500, 3000], 'time between two signs of life; a page calls 7 s without one silent'),
    zones_per_message: countKey('', 500, [1, 10_000], 'zones, devices or attributes told in one message'),
    waiting_zones: countKey(
      '',
      20_000,
      [1, 100_000],
      'zones, devices and attributes that may wait to be told; beyond, a page asks for all',
    ),
    behind_ms: countKey(
      'ms',
      5000,
      [100, 600_000],
      'how long a socket may be behind before what waits for it is dropped and it is only told how much that was',
    ),
    end_ms: countKey('ms', 30_000, [1000, 600_000], 'how long until a socket that stays behind is closed'),
    sockets_per_session: countKey('', 8, [1, 64], 'pages open at once for one session'),
    ticket_life_ms: countKey('ms', 15_000, [1000, 60_000], 'how long a page has to open its socket'),
    max_tickets: countKey('', 1024, [16, 65_536], 'pages that may be opening their socket at once'),
    plan_bytes: countKey(
      'bytes',
      8_388_608,
      [65_536, 134_217_728],
      'the largest file with the picture of a floor plan',
    ),
    plan_pixels: countKey(
      '',
      24_000_000,
      [10_000, 268_435_456],
      'pixels of such a picture; a browser needs four bytes of memory for each',
    ),
    plan_pictures: countKey('', 64, [1, 1000], 'such pictures kept; those that no plan shows go first'),
    plan_upload_ms: countKey('ms', 120_000, [1000, 3_600_000], 'time in which such a picture has to arrive'),
  },
  { additionalProperties: false, default: {}, description: 'the pages' },
)

// Table `socket`.

/** Limits on the socket of pages, wall panels and programs. */
export const socketKeys = Type.Object(
  {
    sign_in_ms: countKey('ms', 10_000, [1000, 600_000], 'how long a socket may be open before somebody signs in on it'),
    strangers: countKey(
      '',
      16,
      [1, 4096],
      'sockets open at once on which nobody has signed in; the oldest of the network with most makes room for the next',
    ),
    per_account: countKey('', 32, [1, 4096], 'sockets of one account open at once'),
    messages: countKey(
      '',
      50,
      [1, 10_000],
      'messages of one socket per second, twice as many at once; more are refused',
    ),
    bad_messages: countKey(
      '',
      32,
      [1, 10_000],
      'messages refused for their form or their number after which a socket is closed',
    ),
    requests: countKey('', 16, [1, 1024], 'requests of one socket under way at once; further ones are refused'),
    account_requests: countKey('', 64, [1, 4096], 'the same of one account'),
    all_requests: countKey('', 512, [1, 65_536], 'the same of all'),
    request_bytes: countKey(
      'bytes',
      2_097_152,
      [65_536, 134_217_728],
      'the same in bytes of their messages, of all together',
    ),
    ids: countKey('', 1000, [1, 100_000], 'ids that one subscription may name'),
    write_rows: countKey('', 1000, [1, 100_000], 'rows that one message may write or remove'),
  },
  { additionalProperties: false, default: {}, description: 'the socket /ws' },
)

// Table `backup`.

/** Limits on backups that are made and restored on the page. */
export const backupKeys = Type.Object(
  {
    bytes: countKey('bytes', 1_073_741_824, [1_048_576, 1_099_511_627_776], 'the largest backup that the page takes'),
    unpacked_bytes: countKey(
      'bytes',
      8_589_934_592,
      [1_048_576, 1_099_511_627_776],
      'what all files of such a backup may have together',
    ),
    idle_ms: countKey('ms', 30_000, [1000, 600_000], 'how long a backup that is sent may stand still'),
    whole_ms: countKey('ms', 3_600_000, [10_000, 86_400_000], 'how long sending it may take'),
    kept_ms: countKey(
      'ms',
      900_000,
      [10_000, 86_400_000],
      'how long one that was made can be saved, and one that was checked can be confirmed',
    ),
  },
  { additionalProperties: false, default: {}, description: 'backups on the page' },
)

/** Heap of the thread that makes and checks them: rows with secrets are read at once, everything else in pieces. */
export const BACKUP_HEAP_MIB = { old: 128, young: 8 }

// Table `audit`.

/** How much of the audit is kept, and how it is written to disk. */
export const auditKeys = Type.Object(
  {
    keep_days: countKey('days', 365, [1, 3650], 'days for which calls are kept'),
    most_rows: countKey(
      '',
      1_000_000,
      [1000, 50_000_000],
      'calls kept at most, each about 150 bytes; the oldest go first, refused ones and those of nobody before others',
    ),
    record_ms: countKey(
      'ms',
      2000,
      [100, 60_000],
      'how long the answer to a sign-in or a command waits for its record to be on the disk; it is 500 then',
    ),
    wait_ms: countKey('ms', 100, [1, 150], 'how long a record that no answer waits for may wait for others'),
    batch_rows: countKey('', 500, [1, 10_000], 'records written together at most'),
    queue_rows: countKey(
      '',
      16_384,
      [64, 1_000_000],
      'records that wait for the disk; further ones are lost and counted, and no command is taken',
    ),
    retry_ms: countKey(
      'ms',
      1000,
      [10, 60_000],
      'wait before a disk that took nothing is tried again; doubles each time',
    ),
    retry_max_ms: countKey('ms', 30_000, [10, 600_000], 'longest wait between tries'),
    trim_ms: countKey('ms', 60_000, [1000, 86_400_000], 'how often old calls are removed'),
    trim_rows: countKey('', 500, [10, 100_000], 'calls removed at once, with a pause before the next'),
    scan_rows: countKey('', 500, [10, 10_000], 'calls read at once, while nothing else is done'),
    search_rows: countKey('', 20_000, [100, 1_000_000], 'calls that one search of the page looks at'),
  },
  { additionalProperties: false, default: {}, description: 'the record of who asked what (request_history)' },
)

/** A checked `audit` table. */
export type AuditConfig = Static<typeof auditKeys>

/**
 * Heap of the thread that writes the audit. Young objects are a batch and its copy; the rest is SQLite's own memory.
 */
export const AUDIT_HEAP_MIB = { old: 64, young: 8 }
