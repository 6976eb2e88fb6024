import t from 'tap'
import type { Session } from '../../../core/access/accounts.ts'
import { NOT_ALLOWED } from '../../../core/audit.ts'
import { answerOf, BUILDING, type SessionForm, stage } from './stage.ts'

const OPEN: SessionForm = { uis: [2] }
const SCOPED: SessionForm = { uis: [1] }
const ELEVATED: SessionForm = { isElevated: true }

/** The building with overrides on some zones, by zone id. */
function withOverrides(overrides: Record<number, unknown>) {
  return stage({ zone: BUILDING.zone.map((zone) => ({ ...zone, overrides: overrides[zone.id] ?? null })) })
}

/** Title, session, overrides, body, what the driver gets. */
const followed: [string, SessionForm, Record<number, unknown>, Record<string, unknown>, string][] = [
  [
    'leads to another zone',
    OPEN,
    { 1: { on: { zone_id: 3, command: 'open', args: { position: 50 } } } },
    { command: 'on' },
    '11 zone 3 open {"position":50}',
  ],
  [
    'leads to a device',
    OPEN,
    { 1: { on: { device_id: 11, command: 'open', args: {} } } },
    { command: 'on' },
    '11 whole open {}',
  ],
  [
    'may name a zone by its name',
    OPEN,
    { 1: { on: { zone: 'Window', command: 'open' } } },
    { command: 'on' },
    '11 zone 3 open {}',
  ],
  [
    'without a target changes only the verb',
    OPEN,
    { 1: { on: { command: 'level', args: { level: 80 } } } },
    { command: 'on' },
    '10 zone 1 level {"level":80}',
  ],
  [
    'for the same zone and verb changes only the args',
    OPEN,
    { 1: { on: { zone_id: 1, command: 'on', args: { fade: 3 } } } },
    { command: 'on' },
    '10 zone 1 on {"fade":3}',
  ],
  [
    'lays its args over those of the command',
    OPEN,
    { 1: { level: { zone_id: 2, command: 'level', args: { fade: 3 } } } },
    { level: 40 },
    '10 zone 2 level {"level":40,"fade":3}',
  ],
  [
    'is for its own verb only',
    OPEN,
    { 1: { on: { zone_id: 3, command: 'open' } } },
    { command: 'off' },
    '10 zone 1 off {}',
  ],
  [
    'can be followed by another',
    OPEN,
    { 1: { on: { zone_id: 2, command: 'on' } }, 2: { on: { zone_id: 3, command: 'open' } } },
    { command: 'on' },
    '11 zone 3 open {}',
  ],
  [
    'leads an elevated session anywhere',
    ELEVATED,
    { 1: { on: { zone_id: 4, command: 'open' } } },
    { command: 'on' },
    '12 zone 4 open {}',
  ],
  [
    'leads within the scope',
    SCOPED,
    { 1: { on: { zone_id: 3, command: 'open' } } },
    { command: 'on' },
    '11 zone 3 open {}',
  ],
  [
    'gives zone_id inside args its own zone',
    OPEN,
    { 1: { on: { zone_id: 3, command: 'open' } } },
    { command: 'on', args: { zone_id: 4 } },
    '11 zone 3 open {"zone_id":3}',
  ],
  ['that is null does not count', OPEN, { 1: { on: null } }, { command: 'on' }, '10 zone 1 on {}'],
]

for (const [title, who, overrides, body, expected] of followed)
  t.test(`1 POST control an override ${title}`, async (t) => {
    const { command, session, reached } = withOverrides(overrides)
    t.match(answerOf(await command(session(who), { zone_id: 1, ...body })), { status: 200, success: true })
    t.strictSame(reached, [expected])
  })

/** Title, session, overrides, reason. */
const refused: [string, SessionForm, Record<number, unknown>, string][] = [
  ['to an elevated device', OPEN, { 1: { on: { device_id: 12, command: 'on' } } }, 'elevation_denied'],
  ['to a zone of an elevated device', OPEN, { 1: { on: { zone_id: 4, command: 'on' } } }, 'elevation_denied'],
  ['to an elevated zone', OPEN, { 1: { on: { zone_id: 5, command: 'on' } } }, 'elevation_denied'],
  ['out of the scope', SCOPED, { 1: { on: { zone_id: 2, command: 'on' } } }, 'scope_denied'],
  [
    'through an elevated zone and back',
    OPEN,
    { 1: { on: { zone_id: 5, command: 'on' } }, 5: { on: { zone_id: 2, command: 'on' } } },
    'elevation_denied',
  ],
]

for (const [title, who, overrides, reason] of refused)
  t.test(`1 POST control an override ${title} is refused when it re-dispatches`, async (t) => {
    const { command, session, reached } = withOverrides(overrides)
    const answer = answerOf(await command(session(who), { zone_id: 1, command: 'on' }))
    t.strictSame(answer.json, { error: 'unauthorized', message: NOT_ALLOWED })
    t.match(answer, { status: 403, reason, target: 'zone 1' })
    t.strictSame(reached, [])
  })

t.test('1 POST control the role is checked again when an override re-dispatches', async (t) => {
  const { command, session, reached } = withOverrides({ 1: { on: { zone_id: 2, command: 'on' } } })
  let asked = 0
  const fickle: Session = { ...session(OPEN), may: () => asked++ < 2 }
  t.match(answerOf(await command(fickle, { zone_id: 1, command: 'on' })), { status: 403, reason: 'role_denied' })
  t.strictSame([asked, reached], [3, []])
})

/** Title, overrides, code. */
const broken: [string, Record<number, unknown>, string][] = [
  [
    'that go in a circle',
    { 1: { on: { zone_id: 2, command: 'on' } }, 2: { on: { zone_id: 1, command: 'on' } } },
    'override_loop',
  ],
  ['to a zone that is gone', { 1: { on: { zone_id: 99, command: 'on' } } }, 'override_broken'],
  ['whose zone and device disagree', { 1: { on: { zone_id: 3, device_id: 10, command: 'on' } } }, 'override_broken'],
  ['that are not an object', { 1: { on: 'zone 3' } }, 'override_broken'],
  ['with a command that is not a verb', { 1: { on: { zone_id: 3, command: 5 } } }, 'override_broken'],
  ['with args that are not an object', { 1: { on: { zone_id: 3, command: 'on', args: [1] } } }, 'override_broken'],
]

for (const [title, overrides, code] of broken)
  t.test(`overrides ${title} reach no driver`, async (t) => {
    const { command, session, reached } = withOverrides(overrides)
    const answer = answerOf(await command(session(OPEN), { zone_id: 1, command: 'on' }))
    t.match(answer, { status: 200, success: false, json: { code } })
    t.strictSame(reached, [])
  })

t.test('a chain of eight overrides is followed, one of nine is not', async (t) => {
  const zone = Array.from({ length: 10 }, (_, i) => ({
    id: i + 1,
    device_id: 10,
    overrides: i < 9 ? { on: { zone_id: i + 2, command: 'on' } } : null,
  }))
  const { command, session, reached } = stage({ zone })
  t.match(answerOf(await command(session(OPEN), { zone_id: 2, command: 'on' })), { success: true })
  t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: 'on' })), { json: { code: 'override_loop' } })
  t.strictSame(reached, ['10 zone 10 on {}'])
})

t.test('verbs named like members of every object are not overrides', async (t) => {
  const { command, session, reached } = withOverrides({ 1: {} })
  for (const verb of ['constructor', '__proto__', 'hasOwnProperty'])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: verb })), { success: true })
  t.equal(reached.length, 3)
})

t.test('1 POST control an override is followed, and re-checked, whatever the case of the verb', async (t) => {
  const { command, session, reached } = withOverrides({ 1: { on: { zone_id: 5 } }, 2: { Open: { command: 'GO' } } })
  for (const verb of ['on', 'ON', 'On ', 'ｏｎ'])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: verb })), {
      status: 403,
      reason: 'elevation_denied',
    })
  t.strictSame(reached, [])
  t.match(answerOf(await command(session(OPEN), { zone_id: 2, command: 'OPEN' })), { success: true })
  t.strictSame(reached, ['10 zone 2 GO {}'], 'and the spelling of the building is sent unchanged')
})

t.test('values fixed by an override replace those of the caller in any case', async (t) => {
  const { command, session, reached } = withOverrides({ 1: { on: { command: 'level', args: { level: 30 } } } })
  for (const args of [{ LEVEL: 90 }, { value: 90 }, { Level: [90] }])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: 'on', args })), { success: true })
  t.strictSame(new Set(reached), new Set(['10 zone 1 level {"level":30}']))
})

t.test('two overrides of one verb that differ only in case are a fault, and nothing is sent', async (t) => {
  const { command, session, reached } = withOverrides({ 1: { on: { zone_id: 5 }, ON: { zone_id: 2 } } })
  for (const verb of ['on', 'ON'])
    t.match(answerOf(await command(session(OPEN), { zone_id: 1, command: verb })), {
      json: { code: 'override_broken' },
    })
  t.strictSame(reached, [])
})
