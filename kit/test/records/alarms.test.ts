/** Alarms: who is told, how often, in which order, and what happens when nobody takes them. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { webhookSignature } from '#kit/net/signature.ts'
import { type AlarmMessage, alarmPart, mailWay, startAlarms, webhookWay } from '#kit/records/alarms.ts'
import type { ToldListener } from '#kit/records/ledger.ts'
import type { Condition, LedgerEntry, Severity } from '#kit/records/ledger-entry.ts'

const HOUR_MS = 3_600_000
const config = {
  ...{ per_hour: 2, gather_ms: 5000, entries: 3, timeout_ms: 1000 },
  ...{ retry_first_ms: 10_000, retry_max_ms: 40_000, give_up_ms: HOUR_MS * 24 },
}

function entryOf(id: number, severity: Severity = 'fault', where = `line ${id}`): LedgerEntry {
  return {
    ...{
      id,
      what: 'line_absent',
      where,
      severity,
      sentence: 'It is unplugged.',
      since: 1_900_000_000_000,
      until: null,
    },
    ...{ durationMs: 0, count: 1, lastAt: 1_900_000_000_000, ended: null, acknowledgedBy: null, acknowledgedAt: null },
  }
}

/** Alarms of a ledger that a test plays, told to a way that keeps them. */
function stage(severity: Severity = 'fault', more: Partial<typeof config> = {}) {
  const clock = fakeClock()
  const told: AlarmMessage[] = []
  const raised: Condition[] = []
  const cleared: string[] = []
  let tell: ToldListener = () => {}
  const state: { refuses: boolean; hangs: boolean } = { refuses: false, hangs: false }
  const ledger = {
    onTold: (listener: ToldListener) => {
      tell = listener
    },
    entry(id: number) {
      if (id > 100) throw new Error('there is no such entry')
      return entryOf(id)
    },
    raise: (condition: Condition) => void raised.push(condition),
    clear: (what: string, where: string) => void cleared.push(`${what} ${where}`),
    happened: () => {},
  }
  const way = {
    ...{ name: 'webhook', severity },
    async send(message: AlarmMessage) {
      if (state.hangs) await new Promise(() => {})
      if (state.refuses) throw new Error('it is closed')
      told.push(message)
    },
  }
  const saved: Parameters<Parameters<typeof startAlarms>[0]['save']>[0][] = []
  const save = async (untold: (typeof saved)[number]) => void saved.push(untold)
  const alarms = startAlarms({ clock, log: silentLog, ledger, ways: [way], config: { ...config, ...more }, save })
  const opened = (entry: LedgerEntry) => tell(entry, 'opened')
  const ended = (entry: LedgerEntry) => tell({ ...entry, until: 1, ended: 'cleared' }, 'ended')
  return { alarms, cleared, clock, ended, opened, raised, saved, state, told }
}

const ids = ({ items }: AlarmMessage) => items.map(({ id, event }) => `${id} ${event}`)

t.test('what comes together is told in one message', async (t) => {
  const { clock, opened, told } = stage()
  opened(entryOf(1))
  await clock.run(4000)
  opened(entryOf(2))
  t.equal(told.length, 0)
  await clock.run(1000)
  t.same(told.map(ids), [['1 opened', '2 opened']])
})

t.test('an entry that opened and ended meanwhile is told once', async (t) => {
  const { clock, ended, opened, told } = stage()
  opened(entryOf(1))
  ended(entryOf(1))
  await clock.run(5000)
  t.same(told.map(ids), [['1 ended']])
})

t.test('only what is as urgent as the way wants is told', async (t) => {
  const { clock, opened, told } = stage('warning')
  opened(entryOf(1, 'notice'))
  opened(entryOf(2, 'warning'))
  opened(entryOf(3, 'fault'))
  await clock.run(5000)
  t.same(told.map(ids), [['2 opened', '3 opened']])
})

t.test('a flood is a digest: so many messages an hour, and in each so many entries and a count', async (t) => {
  const { clock, opened, told } = stage()
  for (let id = 1; id <= 2; id++) {
    opened(entryOf(id))
    await clock.run(5000)
  }
  for (let id = 3; id <= 9; id++) opened(entryOf(id))
  await clock.run(HOUR_MS - 5001)
  t.equal(told.length, 2)
  await clock.run(1)
  t.same(told.slice(2).map(ids), [['7 opened', '8 opened', '9 opened']])
  t.equal(told[2]?.omitted, 4)
})

t.test('a message that was not taken is tried again, with what came meanwhile', async (t) => {
  const { cleared, clock, opened, raised, state, told } = stage()
  state.refuses = true
  opened(entryOf(1))
  await clock.run(5000)
  t.match(raised, [{ what: 'alarm_undelivered', where: 'webhook', sentence: /it is closed/ }])
  opened(entryOf(2))
  state.refuses = false
  await clock.run(9999)
  t.equal(told.length, 0)
  await clock.run(1)
  t.same(told.map(ids), [['1 opened', '2 opened']])
  t.same(cleared, ['alarm_undelivered webhook'])
})

t.test('the way that fails is not told that it fails', async (t) => {
  const { clock, opened, told } = stage('warning')
  opened({ ...entryOf(1, 'warning', 'webhook'), what: 'alarm_undelivered' })
  opened({ ...entryOf(2, 'warning', 'mail'), what: 'alarm_undelivered' })
  await clock.run(5000)
  t.same(told.map(ids), [['2 opened']])
})

t.test('a target that hangs is given up in time, and what is too old is only counted', async (t) => {
  const { clock, opened, raised, state, told } = stage('fault', { give_up_ms: 10_000 })
  state.hangs = true
  opened(entryOf(1))
  await clock.run(6000)
  t.match(raised, [{ sentence: /no answer within 1 s/ }])
  await clock.run(12_000)
  state.hangs = false
  opened(entryOf(2))
  await clock.run(60_000)
  t.same(told.map(ids), [['2 opened']])
  t.equal(told[0]?.omitted, 1)
})

t.test('what waits when the daemon stops is sent once more', async (t) => {
  const { alarms, opened, told } = stage()
  opened(entryOf(1))
  await alarms.close()
  t.same(told.map(ids), [['1 opened']])
})

t.test('what was not told is kept over a power cut, and told by the next run', async (t) => {
  const { clock, opened, saved, state } = stage()
  state.refuses = true
  for (let id = 1; id <= 5; id++) opened(entryOf(id))
  await clock.run(6000)
  t.same(saved.at(-1), { webhook: { ids: [3, 4, 5], omitted: 2 } }, 'while it is tried again, too')
  state.refuses = false
  await clock.run(20_000)
  t.same(saved.at(-1), { webhook: { ids: [], omitted: 0 } })

  const next = stage()
  next.alarms.resume({ webhook: { ids: [3, 999], omitted: 2 }, another: { ids: [1], omitted: 0 } })
  await next.clock.run(5000)
  t.same(next.told.map(ids), [['3 opened']])
  t.equal(next.told[0]?.omitted, 3, 'an entry that was dropped meanwhile is counted')
})

t.test('what is refused at the end is kept', async (t) => {
  const { alarms, opened, saved, state } = stage()
  state.refuses = true
  opened(entryOf(1))
  await alarms.close()
  t.same(saved.at(-1), { webhook: { ids: [1], omitted: 0 } })
})

t.test('what a target that hangs at the end has not taken is kept, with what came meanwhile', async (t) => {
  const { alarms, clock, opened, saved, state } = stage('fault', { timeout_ms: 10_000 })
  state.hangs = true
  opened(entryOf(1))
  await clock.run(5000)
  opened(entryOf(2))
  const closed = alarms.close()
  await clock.run(4000)
  await closed
  t.same(saved.at(-1), { webhook: { ids: [1, 2], omitted: 0 } })
})

t.test('as many as may be under way and waiting at once are read again', async (t) => {
  const folder = t.testdir({})
  const ids = Array.from({ length: 2000 }, (_, at) => at + 1)
  writeFileSync(join(folder, 'alarms.json'), JSON.stringify({ webhook: { ids, omitted: 0 } }))
  const asked: number[] = []
  const log = { ...silentLog, error: (text: string) => t.fail(text) }
  const ledger = {
    ...{ onTold: () => {}, raise: () => {}, clear: () => {}, happened: () => {} },
    entry(id: number) {
      asked.push(id)
      return entryOf(id)
    },
  }
  const alarms = { ...keys, url: 'http://127.0.0.1:9/', entries: 1000 }
  const part = alarmPart({ clock: fakeClock(), log, config: { alarms }, stateFolder: folder }, ledger, { says })
  await part.start()
  t.equal(asked.length, 2000)
})

const keys = { ...config, url_severity: 'fault', secret_file: '', ca_file: '' } as const
const says = () => ({ role: 'gateway', name: 'Plant B2' })

t.test('a webhook is posted and signed as those of ports are', async (t) => {
  const seen: { body: string; headers: NodeJS.Dict<string | string[]> }[] = []
  let status = 204
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      seen.push({ body: Buffer.concat(parts).toString(), headers: request.headers })
      response.writeHead(status).end()
    })
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const secretFile = t.testdir({ secret: 'hush\n' })
  const way = webhookWay({ ...keys, url, secret_file: `${secretFile}/secret` }, fakeClock(), says)
  const message = { items: [{ ...entryOf(1), event: 'opened' as const }], omitted: 0 }
  await way?.send(message, new AbortController().signal)
  const [{ body, headers } = { body: '', headers: {} }] = seen
  t.match(JSON.parse(body), { event: 'alarm', role: 'gateway', name: 'Plant B2', omitted: 0, entries: [{ id: 1 }] })
  t.equal(headers['x-svc-event'], 'alarm')
  t.equal(headers['x-svc-signature'], webhookSignature(Buffer.from(body), 'hush'))
  status = 302
  await t.rejects(async () => way?.send(message, new AbortController().signal), { message: /answered 302/ })
  t.throws(() => webhookWay({ ...keys, url, secret_file: '/nowhere' }, fakeClock(), says), {
    code: 'alarm_secret_unreadable',
  })
  t.equal(webhookWay({ ...keys, url: '' }, fakeClock(), says), undefined)
})

t.test('a mail says what, where, since when and how long', async (t) => {
  const sent: { to: string; subject: string; text: string }[] = []
  const post = async (mail: { to: string; subject: string; text: string }) => void sent.push(mail)
  const way = mailWay({ mail_to: 'house@example.org', mail_severity: 'fault' }, post, says)
  const over = { ...entryOf(2), until: 1, durationMs: 125_000, count: 3, event: 'ended' as const }
  const items = [{ ...entryOf(1), event: 'opened' as const }, over]
  await way?.send({ items, omitted: 1 }, new AbortController().signal)
  t.match(sent, [{ to: 'house@example.org', subject: 'Plant B2: fault: line_absent at line 1 and 2 more' }])
  t.match(
    sent[0]?.text,
    /since 2030-03-17T17:46:40.000Z\n\nover: .*\n.*\nsince .*, for 2 min 5 s, 3 times\n\n1 further/,
  )
  t.equal(mailWay({ mail_to: '', mail_severity: 'fault' }, post, says), undefined)
})
