/** A device that is away for a day, and comes back: what is told, what is kept, how often it is tried, and that nothing grows. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { Ledger } from '#kit/records/ledger.ts'
import { reportDevices } from '../../../assemble/conditions.ts'
import { hostStage } from './host-stage.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

t.test('a device away for a day and back', { timeout: 120_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'away-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  let isThere = true
  let opens = 0
  const { ask, book, clock, host, live, opened, underWay, worlds } = hostStage({
    devices: [{ id: 1, name: 'Projector', driver: 'fake' }],
    async open() {
      opens++
      if (!isThere) throw new Error('no route to host')
      return {}
    },
  })
  const config = {
    entries: 100,
    days: 90,
    hold_ms: 60_000,
    resume_ms: 1000,
    save_ms: 2000,
    save_most_ms: 60_000,
    tell_ms: 250,
    log_lines: 60,
  }
  const ledger = new Ledger({ folder, clock, log: silentLog, config })
  const alarms: string[] = []
  ledger.onTold(({ what, where }, event) => void alarms.push(`${event}: ${what} at ${where}`))
  reportDevices(ledger, live, book)
  const told: string[] = []
  live.onChange((kind, id) => void told.push(`${kind} ${id}`))

  ask('1 level', { level: 40 })
  await clock.run(0)
  underWay[0]?.resolve()
  live.report({ zoneId: 1 }, { level: 40 })
  await clock.run(MINUTE_MS)
  t.match([live.device(1).state, live.zone(1).level], ['online', 40])

  isThere = false
  const leftAt = clock.epochMs()
  opened.at(-1)?.context.online(false, 'the connection was closed')
  await clock.run(10 * MINUTE_MS)
  t.match(live.device(1), { state: 'offline', error: /no route to host/ })
  t.equal(live.zone(1).state, 'unknown')
  const refused = ask('1 on')
  await clock.run(MINUTE_MS)
  t.match(refused.came, /device 1 is offline/, 'a command is refused at once, and is not carried out a day later')

  const before = { opens, told: told.length, pending: clock.pending(), worlds: worlds.open, said: worlds.said.length }
  const lines = () => readFileSync(join(folder, 'ledger.jsonl'), 'utf8').trim().split('\n').length
  await clock.run(DAY_MS - 11 * MINUTE_MS)
  const tries = opens - before.opens
  t.ok(tries > 1000 && tries <= 2900, `tried ${tries} times: once in a half to a whole minute`)
  t.equal(told.length, before.told, 'pages are told nothing while nothing changes')
  t.ok(clock.pending() <= before.pending, 'no timers are left behind')
  t.ok(worlds.open <= before.worlds + 1, 'no connection is left behind')
  t.match(host.view(1), { queued: 0 })
  t.match(ledger.list({ limit: 10 }), [
    { what: 'device_offline', where: 'device 1 Projector', since: leftAt, until: null, count: 1, durationMs: DAY_MS },
  ])
  t.same(alarms, ['opened: device_offline at device 1 Projector'])
  t.ok(lines() < 5, `${lines()} lines on the disk`)

  isThere = true
  await clock.run(2 * MINUTE_MS)
  const again = ask('1 level', { level: 60 })
  await clock.run(0)
  underWay.at(-1)?.resolve({ answer: 'OK' })
  live.report({ zoneId: 1 }, { level: 60 })
  await clock.run(2 * MINUTE_MS)
  t.same(again.came, { answer: 'OK' })
  t.match([live.device(1).state, live.device(1).error, live.zone(1).level], ['online', null, 60])
  t.equal(opened[0]?.isClosed, true, 'of its sessions the first is closed')
  const [entry, ...more] = ledger.list({ limit: 10 })
  t.same(more, [])
  t.match(entry, { since: leftAt, count: 1, ended: 'cleared' })
  const awayMs = Number(entry?.until) - leftAt
  t.ok(awayMs >= DAY_MS && awayMs <= DAY_MS + 2 * MINUTE_MS, `from its loss to its return: ${awayMs} ms`)
  t.same(alarms, ['opened: device_offline at device 1 Projector', 'ended: device_offline at device 1 Projector'])
  await ledger.close()
  t.ok(lines() < 8, `${lines()} lines on the disk`)
  await host.close()
  t.equal(worlds.open, 0)
})
