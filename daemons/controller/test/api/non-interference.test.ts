/** What happened in a building, and is none of a session's business, influences no answer of the pages to it. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { holdsLater } from '#kit/test/holds.ts'
import type { AuditRow } from '../../core/surfaces.ts'
import type { FakeHouse } from '../fake-house.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi } from '../ui-server.ts'

/** CASES=10000 in the environment runs more. */
const CASES = Number(process.env.CASES ?? 60)

/** Zones that ada may not see. */
const HIDDEN = [7, 8]

/** A building in which the same words stand in every place that is hidden from ada. */
function houseOf(word: string): FakeHouse {
  const house = harbourHouse(fakeClock())
  const ada = house.people.get('ada')
  if (ada) ada.scope = [1, 2, 3, 4, 5, 6]
  Object.assign(house.people.get('sam') ?? {}, { code: undefined, password: word })
  house.change(
    'zone',
    [...(house.tables.get('zone') ?? [])].map((row) => (HIDDEN.includes(row.id) ? { ...row, name: word } : row)),
  )
  for (const id of [1, 2, 3]) Object.assign(house.devices.get(id) ?? {}, { lastSeenAt: 1000 })
  for (const id of HIDDEN) {
    house.zones.set(id, { state: word, level: word.length })
    house.stills.set(id, word)
  }
  house.records = Array.from({ length: word.length }, (_, at) => record(at + 1, word))
  house.found = [
    {
      ...{ id: word, role: 'gateway', driver: 'gateway', name: word, host: word, address: '10.0.0.9', port: 3132 },
      ...{ version: '1.0.0', heardAt: word.length, hasTls: false, device: null },
    },
  ]
  const entries = Array.from({ length: word.length }, (_, at) => entry(at + 1, word))
  house.parts.ledger = {
    list: () => entries,
    openCounts: () => ({ fault: word.length, warning: 0, notice: 0 }),
    keptSince: () => word.length,
    acknowledge: () => entries[0],
  } as unknown as Ledger
  return house
}

function record(id: number, word: string): AuditRow {
  return {
    ...{ id, at: id, requestType: 'ui', method: 'POST', path: '/ui/command', status: 200, elapsedMs: word.length },
    ...{ clientIp: '10.0.0.9', userId: 3, username: word, granted: true, reason: null, target: 'zone 7', runId: null },
    facts: { action: `level 4 on ${JSON.stringify(word)}`, outcome: 'done', detail: null },
  }
}

function entry(id: number, word: string): LedgerEntry {
  return {
    ...{
      id,
      what: 'device_offline',
      where: `device 4 ${word}`,
      severity: 'fault',
      sentence: word,
      since: 1,
      until: null,
    },
    ...{ durationMs: word.length, count: 1, lastAt: 1, ended: null, acknowledgedBy: word, acknowledgedAt: 1 },
  }
}

/** Signs ada in. @returns what she is answered, byte for byte */
async function visitOf(house: FakeHouse) {
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', { username: 'ada', password: house.people.get('ada')?.password })
  return async ({ method, path, body }: Call) => {
    const { status, body: said } = await browser.call(method, path, body)
    return JSON.stringify([status, said])
  }
}

interface Call {
  method: string
  path: string
  body?: unknown
}

const filter = fc.constantFrom(
  ...['', 'zone=7', 'zone=a', 'device=4', 'user=sam', 'trouble=true', 'trouble=false', 'granted=true', 'limit=1'],
  ...['before=3', 'from=0&to=9', 'reason=duress', 'zone=', 'limit=0', 'nothing=1'],
)
const ledgerFilter = fc.constantFrom(
  '',
  'open=true',
  'where=device',
  'what=device_offline',
  'severity=fault',
  'before=2',
  'x=1',
)
const call: fc.Arbitrary<Call> = fc.oneof(
  filter.map((query) => ({ method: 'GET', path: `/ui/audit?${query}` })),
  ledgerFilter.map((query) => ({ method: 'GET', path: `/ui/ledger?${query}` })),
  fc.constantFrom<Call>(
    { method: 'GET', path: '/ui/ledger/export' },
    { method: 'POST', path: '/ui/ledger/acknowledge', body: { id: 1 } },
    { method: 'POST', path: '/ui/ledger/acknowledge', body: { id: 99 } },
    { method: 'GET', path: '/ui/zones' },
    { method: 'GET', path: '/ui/zone/still?zone=8' },
    { method: 'GET', path: '/ui/zone/still?zone=7' },
    { method: 'GET', path: '/ui/site' },
    { method: 'GET', path: '/ui/me' },
    { method: 'GET', path: '/ui/devices' },
    { method: 'GET', path: '/ui/devices?find=a' },
    { method: 'GET', path: '/ui/automation' },
    { method: 'GET', path: '/ui/pending' },
    { method: 'GET', path: '/ui/tables' },
    { method: 'GET', path: '/ui/rows?table=zone' },
    { method: 'GET', path: '/ui/found' },
    { method: 'POST', path: '/ui/found/root', body: { id: 'a' } },
    { method: 'GET', path: '/ui/not-driven' },
    { method: 'GET', path: '/ui/backup' },
    { method: 'GET', path: '/ui/backup/file' },
    { method: 'POST', path: '/ui/backup', body: {} },
    { method: 'POST', path: '/ui/backup/restore', body: { name: 'Harbour House' } },
    { method: 'POST', path: '/ui/backup/undo', body: { name: 'x' } },
  ),
)

t.test('audit, ledger, history, backups and zones out of reach influence no answer', async (t) => {
  const [one, other] = [await visitOf(houseOf('a')), await visitOf(houseOf('quite another word'))]
  await holdsLater(
    t,
    fc.asyncProperty(call, async (asked) => {
      const [said, also] = [await one(asked), await other(asked)]
      if (said !== also) throw new Error(`${asked.method} ${asked.path}:\n${said}\n${also}`)
    }),
    { numRuns: CASES },
  )
  t.match(await one({ method: 'GET', path: '/ui/zones' }), /"Lobby music"/, 'something is seen')
})

t.test('the property fails for a session that may see it', async (t) => {
  const houses = [houseOf('a'), houseOf('quite another word')]
  for (const { people } of houses) Object.assign(people.get('ada') ?? {}, { isElevated: true, scope: 'all' })
  const [one, other] = await Promise.all(houses.map(visitOf))
  for (const path of ['/ui/audit', '/ui/ledger', '/ui/zones', '/ui/found'])
    t.not(await one?.({ method: 'GET', path }), await other?.({ method: 'GET', path }), path)
})
