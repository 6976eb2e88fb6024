/** Tests of web/sign-in.ts, web/zone-tile.ts, web/plan-editor.ts, web/audit-page.ts, web/audit-words.ts and web/pending-page.ts. */
import t from 'tap'
import { CallFault, NoContact } from '#kit/web/call.ts'
import type { AuditReason } from '../../core/audit.ts'
import { PLACES } from '../../core/site/plans.ts'
import { type AuditEntry, RunFault, type RunStep } from '../../web/api.ts'
import { outcomeSentence } from '../../web/audit-details.ts'
import { type AuditChoice, auditQuery, FIRST_CHOICE, isBackward } from '../../web/audit-page.ts'
import { auditSentence, outcomeLit, outcomeWords, reasonChoices } from '../../web/audit-words.ts'
import { changeTitle, columnTexts, refusedRows } from '../../web/pending-page.ts'
import { movedTo } from '../../web/plan-editor.ts'
import { codeLifeText, signInSentence, typedCode } from '../../web/sign-in.ts'
import { me, pendingSentence } from '../../web/state.ts'
import { commandSentence, failedSteps, stepsOfFault } from '../../web/zone-tile.ts'

t.test('never says whether the name or the password was wrong', async (t) => {
  const said = signInSentence('invalid_credential', 'invalid credential')
  t.match(said, /No account that may sign in here has this name and password/)
  t.notMatch(said, /unknown|disabled|wrong/i)
})

t.test('says what to do about every refusal of a sign-in, and passes on what it does not know', async (t) => {
  for (const error of ['missing_credential', 'remote_denied', 'no_sites', 'no_roles', '2fa_no_email', '2fa_mismatch'])
    t.notMatch(signInSentence(error, 'x'), /refused: /, error)
  t.equal(signInSentence('slow_down', 'Wait 4 s'), 'The controller refused: Wait 4 s.')
  t.equal(signInSentence('constructor', ''), 'The controller refused: constructor.')
})

t.test('counts down the time of a code, and accepts it as people type it', async (t) => {
  t.equal(codeLifeText(299_001), 'Good for another 5:00.')
  t.equal(codeLifeText(61_000), 'Good for another 1:01.')
  t.match(codeLifeText(0), /code has expired/)
  t.equal(typedCode(' k7m-pq2 '), 'K7MPQ2')
})

t.test('says why a command was not carried out', async (t) => {
  const fault = (status: number, error: string, message?: string) =>
    new CallFault(status, { error, ...(message ? { message } : {}) })
  t.equal(commandSentence(fault(403, 'unauthorized')), 'Your role does not allow this here.')
  t.equal(commandSentence(fault(200, 'driver_timeout')), 'The device does not answer. Try again.')
  t.equal(commandSentence(fault(200, 'relay stuck')), 'Not done: relay stuck.')
  t.equal(commandSentence(fault(200, 'x', 'The lamp is broken.')), 'Not done: The lamp is broken.')
  t.match(commandSentence(new NoContact(null)), /not known whether this was done/)
})

t.test(
  'tells what a device did not do by the name of its zone, and its driver to those who look after it',
  async (t) => {
    const fault = (code: string, error: string) => new RunFault({ success: false, error, code })
    for (const said of [
      'device 3 is offline: connect ECONNREFUSED 10.0.0.9:4370',
      'device 3: 10.0.0.9 refuses connections',
      'device 3: 10.0.0.9 cannot be reached (EHOSTUNREACH)',
      'device 3: timed out',
    ])
      t.equal(commandSentence(fault('driver_failed', said), 'Projector'), 'Projector does not answer. Try again.', said)
    const own = fault('driver_failed', 'device 3: ERR3 unavailable time')
    t.equal(commandSentence(own, 'Projector'), 'Projector could not do this. Try again.')
    t.equal(
      commandSentence(fault('device_disabled', 'device 3 is disabled'), 'Screen'),
      'Screen is switched off in the settings.',
    )
    const site = { name: null, time_zone: null }
    const person = { username: 'sam', full_name: null, roles: [], must_change_password: false, site }
    me.value = { ...person, elevated: true }
    t.equal(
      commandSentence(own, 'Projector'),
      'Projector could not do this. Try again. Its driver says: device 3: ERR3 unavailable time.',
    )
    me.value = null
  },
)

t.test('a zone is moved to whole thousandths, and stays on the plan', async (t) => {
  const places = [
    { zone_id: 1, x: 500, y: 500 },
    { zone_id: 2, x: 1, y: 2 },
  ]
  t.same(movedTo(places, 1, { x: 1200, y: -3 }), [{ zone_id: 1, x: PLACES, y: 0 }, places[1]])
  t.same(movedTo(places, 2, { x: 33.4, y: 66.6 })[1], { zone_id: 2, x: 33, y: 67 })
})

t.test('says which steps of a macro failed and why, also in macros that it called', async (t) => {
  const steps: RunStep[] = [
    { step: '1', type: 'command', state: 'done' },
    { step: '2', type: 'command', state: 'failed', error: 'driver_failed' },
    {
      step: '3',
      type: 'macro',
      state: 'failed',
      error: 'not authorized',
      steps: [{ step: '1', type: 'command', state: 'failed', error: 'not authorized' }],
    },
    { step: '4', type: 'delay', state: 'failed', error: 'x' },
    { step: '4', type: 'delay', state: 'done' },
    {
      step: '5',
      type: 'command',
      state: 'failed',
      error: 'driver_timeout',
      message: 'device 1 did not answer',
      decided: { zone_id: 4, command: 'level', args: { level: 4 } },
    },
  ]
  const sentences = [
    'Step 2, a command: The device could not do this. Try again.',
    'Step 3, 1, a command: It includes something that your role does not allow.',
    'Step 5, level on zone 4: zone 4 does not answer. Try again.',
  ]
  t.same(failedSteps(steps), sentences)
  const fault = new RunFault({ success: false, error: 'driver_failed', steps })
  t.same(stepsOfFault(fault), sentences)
  t.equal(commandSentence(fault), 'Not done: a step failed, and the macro ended there.')
  t.equal(commandSentence(new RunFault({ success: false, error: 'macro_busy' })), 'The macro is already running.')
})

t.test('a call that was granted but not carried out is not green, and says so', async (t) => {
  const told = (outcome: string | null, detail: string | null = null) => {
    const entry = { ...row, action: 'level 4 on "Hall"', outcome, detail }
    return [outcomeLit(entry), outcomeWords(entry), outcomeSentence(entry)]
  }
  t.same(told('done'), ['ok', 'done', 'Done, answered with 200.'])
  t.same(told('failed', 'driver_failed: device 1: no'), [
    'fault',
    'not done',
    'Granted, and not done, answered with 200. driver_failed: device 1: no.',
  ])
  t.equal(told('partly')[0], 'warn')
  t.equal(told('running')[0], 'busy')
  t.same(told(null), ['ok', 'granted', 'Answered with 200.'])
  t.equal(outcomeLit({ ...row, outcome: 'partly', granted: false, reason: 'scope_denied' }), 'warn')
})

t.test('1 Audit denial reasons: each has plain words', async (t) => {
  // A new reason without words here does not compile.
  const all: Record<AuditReason, true> = {
    malformed_body: true,
    missing_credential: true,
    invalid_credential: true,
    no_sites: true,
    no_roles: true,
    '2fa_required': true,
    '2fa_mismatch': true,
    '2fa_no_email': true,
    invalid_session: true,
    remote_denied: true,
    unauthorized: true,
    role_denied: true,
    elevation_denied: true,
    scope_denied: true,
    unknown_macro: true,
    elevated_table: true,
    invalid_projection: true,
    redacted_filter: true,
    secure_filtered: true,
    invalid_action: true,
    not_implemented: true,
    rest_disabled: true,
    method_not_allowed: true,
    bad_target: true,
    bad_command: true,
    bad_args: true,
    bad_fields: true,
    unknown_entity: true,
    unknown_modifier: true,
    foreign_origin: true,
    bad_query: true,
    busy: true,
    pin_rests: true,
    duress: true,
    password_change_required: true,
    trigger_limit: true,
    missed: true,
  }
  t.same(reasonChoices.map(([reason]) => reason).sort(), Object.keys(all).sort())
  const entry = { ...row, reason: 'scope_denied', granted: false, status: 403 }
  t.equal(outcomeWords(entry), 'out of scope')
  t.match(outcomeSentence(entry), /no UI that the roles allow/)
  t.equal(outcomeWords({ ...row, granted: false, status: 500 }), 'failed, 500')
  t.equal(outcomeWords({ ...entry, reason: 'constructor' }), 'constructor')
})

const row: AuditEntry = {
  id: 1,
  at: 0,
  request_type: 'ui',
  method: 'GET',
  path: '/ui/me',
  status: 200,
  elapsed_ms: 1,
  client_ip: '::1',
  username: null,
  granted: true,
  reason: null,
  target: null,
  run_id: null,
  action: null,
  outcome: null,
  detail: null,
  unit: null,
}

t.test('tells a call in a sentence: who did what, and what came of it', async (t) => {
  const ada = { ...row, username: 'ada', outcome: 'done' }
  const said = (more: Partial<AuditEntry>) => auditSentence({ ...ada, ...more })
  const unit = '%'
  t.equal(said({ action: 'level 40 on "Hall ceiling"', unit }), 'ada set Hall ceiling to 40\u202f%: done.')
  t.equal(said({ action: 'setpoint 21.5 on "Hall"' }), 'ada set Hall to 21.5: done.')
  t.equal(said({ action: 'on on "Sign \\"A\\" on the roof"' }), 'ada switched on Sign "A" on the roof: done.')
  t.equal(said({ action: 'unlock (code …) on "Front door"' }), 'ada sent unlock (code …) to Front door: done.')
  t.equal(said({ action: 'unlock on "Front door"' }), 'ada unlocked Front door: done.')
  t.equal(said({ action: 'picture_mode … on "Wall"' }), 'ada sent picture_mode … to Wall: done.')
  t.equal(
    said({ action: 'on on "Projector"', outcome: 'failed', detail: 'driver_failed: device 3: no answer within 5 s' }),
    'Projector refused: no answer within 5 s. ada asked Projector to switch on.',
  )
  t.equal(
    said({
      action: 'level 40 on "Hall"',
      unit,
      granted: false,
      outcome: 'refused',
      reason: 'scope_denied',
      status: 403,
    }),
    'ada asked Hall for level 40\u202f%: refused, out of scope.',
  )
  t.equal(said({ action: 'macro "Night"', outcome: 'partly' }), 'ada ran the macro Night: done in part.')
  t.equal(
    said({ action: 'macro "Night"', outcome: 'failed', detail: 'x: step 2' }),
    'The macro Night failed: step 2. ada asked for the macro Night.',
  )
  t.equal(said({ action: 'cancel macro "Night"' }), 'ada ended the macro Night: done.')
  t.equal(
    said({ username: null, request_type: 'schedule', action: 'macro "Night" by schedule "Dusk"' }),
    'The schedule Dusk ran the macro Night: done.',
  )
  t.equal(said({ action: 'set "mode"' }), 'ada set the attribute mode: done.')
})

t.test('tells calls that are no commands by what they are for, and others by their path', async (t) => {
  const said = (more: object) => auditSentence({ ...row, username: 'ada', ...more })
  t.equal(said({ method: 'POST', path: '/ui/sign-in' }), 'ada signed in.')
  const guess = { username: null, client_ip: '10.0.0.9', granted: false, reason: 'invalid_credential' }
  t.equal(
    said({ ...guess, method: 'POST', path: '/api/token' }),
    'Somebody at 10.0.0.9 tried to sign in over REST: refused, wrong name or password.',
  )
  t.equal(said({ path: '/api/data/zone', target: 'entity zone' }), 'ada read the table zone.')
  t.equal(said({ path: '/ui/me' }), 'ada looked at me.')
  t.equal(said({ path: '/ui/zone/still', target: 'zone 12' }), 'ada began to look at a camera.')
  t.equal(said({ path: '/api/me' }), 'ada called GET /api/me.')
  t.equal(said({ path: '/ui/zones', status: 500, granted: false }), 'ada asked for zones: failed, 500.')
  t.equal(
    said({ method: 'POST', path: '/ui/command', target: 'zone 12', granted: false, reason: 'scope_denied' }),
    'ada sent a command: refused, out of scope.',
  )
  t.equal(said({ path: '/constructor', method: 'POST' }), 'ada called POST /constructor.')
})

t.test('asks for the chosen filters, and leaves out the others', async (t) => {
  const nothing: AuditChoice = { ...FIRST_CHOICE, outcome: 'all', user: ' ' }
  t.equal(auditQuery(nothing, { nowMs: 0, zone: 'UTC' }, null), 'limit=100')
  const some: AuditChoice = { ...FIRST_CHOICE, user: 'a&b', zone: 'Hall', device: '3', reason: 'no_roles', hours: '1' }
  t.equal(
    auditQuery(some, { nowMs: 3_600_500.7, zone: 'UTC' }, 9),
    'limit=100&trouble=true&user=a%26b&zone=Hall&device=3&reason=no_roles&from=500&before=9',
  )
})

t.test('asks for the chosen time, in the time of the building, its last minute included', async (t) => {
  const time = { nowMs: 0, zone: 'Europe/Amsterdam' }
  const both: AuditChoice = { ...FIRST_CHOICE, hours: 'picked', from: '2026-07-01T14:00', until: '2026-07-01T14:30' }
  const span = (choice: AuditChoice) => {
    const query = new URLSearchParams(auditQuery(choice, time, null))
    return [query.get('from'), query.get('to')].map((at) => at && new Date(Number(at)).toISOString())
  }
  t.same(span(both), ['2026-07-01T12:00:00.000Z', '2026-07-01T12:31:00.000Z'])
  t.same(span({ ...both, from: '' }), [null, '2026-07-01T12:31:00.000Z'])
  t.same(span({ ...both, until: '' }), ['2026-07-01T12:00:00.000Z', null])
  t.same(span({ ...both, hours: '' }), [null, null], 'any time means any time, whatever was chosen before')
  t.notOk(isBackward(both, time))
  t.notOk(isBackward({ ...both, until: both.from }, time), 'one minute')
  t.ok(isBackward({ ...both, until: '2026-07-01T13:59' }, time))
  t.notOk(isBackward({ ...both, until: '' }, time))
})

t.test('names a change and its columns, and no secret', async (t) => {
  const change = {
    id: 1,
    at: 0,
    by: 'sam',
    kind: 'change',
    table: 'zone_group',
    row_id: 12,
    name: 'Lobby',
    columns: [],
  } as const
  t.equal(changeTitle({ ...change, columns: [] }), 'Changed: zone group 12, Lobby')
  t.equal(changeTitle({ ...change, columns: [], kind: 'add', row_id: null, name: null }), 'New: zone group')
  t.same(columnTexts({ column: 'api_key', secret: true }), {
    name: 'api key',
    before: 'a secret',
    after: 'a new secret',
  })
  t.same(columnTexts({ column: 'x', secret: false, before: null, after: true }), {
    name: 'x',
    before: '–',
    after: 'yes',
  })
  const long = columnTexts({ column: 'x', secret: false, before: { a: [1] }, after: 'y'.repeat(5000) })
  t.equal(long.before, '{"a":[1]}')
  t.ok(long.after.length < 400)
  t.equal(pendingSentence(1), '1 change waits.')
  t.same([...refusedRows([{ field: '7', message: 'gone' }])], [[7, 'gone']])
})

t.test('shows instants as times, rows by their names, and JSON without its braces', async (t) => {
  const column = { column: 'valid_until', secret: false, before: null, after: 1_782_907_200_000, kind: 'time' } as const
  t.same(columnTexts(column, 'Europe/Amsterdam'), { name: 'valid until', before: '–', after: '2026-07-01 14:00:00' })
  const names = { before: 'Lobby', after: null }
  const row = { column: 'zone_group_id', secret: false, before: 7, after: 9, kind: 'row', names } as const
  t.same(columnTexts(row), { name: 'zone group', before: 'Lobby (7)', after: '9' })
  const transport = { kind: 'tcp', host: '10.20.4.9', port: 4352, tls: false }
  t.equal(
    columnTexts({ column: 'transport', secret: false, before: null, after: transport }).after,
    'kind tcp, host 10.20.4.9, port 4352, tls no',
  )
  t.equal(columnTexts({ column: 'x', secret: false, before: {}, after: { a: [1] } }).after, '{"a":[1]}')
})
