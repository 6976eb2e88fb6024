import { writeFileSync } from 'node:fs'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createClockService } from '../../io/clock-service.ts'
import { startClockServicePeer } from '../peer/clock-service.ts'

const LONG_MS = 60_000

t.test('what the clock service says is read, and what it is told is what is asked for', async (t) => {
  const { asked, command } = startClockServicePeer(t)
  const service = createClockService({ clock: systemClock, answerMs: LONG_MS, command })
  t.same(await service.facts(), { zone: 'Etc/UTC', ntp: true, canNtp: true, synchronized: true })
  t.same(await service.zones(), ['Europe/Berlin', 'Etc/UTC'])
  await service.setZone('Europe/Berlin')
  await service.setNtp(false)
  await service.setTime(1_900_000_000_000)
  t.same(asked(), ['SetTimezone Europe/Berlin', 'SetNTP false', 'SetTime 1900000000000000'])
  t.match(await service.facts(), { zone: 'Europe/Berlin', ntp: false })
})

t.test('a time is given again while network time is still ending, and no longer than that may take', async (t) => {
  const { asked, command, put } = startClockServicePeer(t)
  put('refusal', 'Call failed: Automatic time synchronization is enabled')
  await createClockService({ clock: systemClock, answerMs: LONG_MS, command }).setTime(0)
  t.same(asked(), ['SetTime 0', 'SetTime 0'])
  const clock = fakeClock()
  put('refusal', 'Call failed: Previous request is not finished, refusing.')
  const patient = createClockService({ clock, answerMs: LONG_MS, command }).setTime(0)
  let isOver = false
  const ended = patient
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  while (!isOver) {
    clock.advance(1000)
    await new Promise(setImmediate)
  }
  await ended
  await t.rejects(patient, { code: 'clock_refused', message: /Previous request/ })
})

t.test('who refuses, and what is not there, is told in a sentence', async (t) => {
  const { command, put } = startClockServicePeer(t)
  const service = createClockService({ clock: systemClock, answerMs: LONG_MS, command })
  put('refusal', 'Call failed: Access denied\n')
  await t.rejects(service.setNtp(true), { code: 'clock_refused', message: /Access denied.*polkitd/ })
  put('refusal', 'Call failed: \u001b[31mno\u001b[0m\nand more')
  await t.rejects(service.setNtp(true), { code: 'clock_refused', message: /refuses this: \S+no \S+ and more\.$/ })
  put('complaint', 'Failed to connect to bus: No such file or directory')
  await t.rejects(service.facts(), { code: 'clock_service_missing', message: /reached: No such file or directory\.$/ })
  put('complaint', '')
  put('zone', 'x"y')
  await t.rejects(service.facts(), { code: 'clock_service_missing', message: /it answers/ })
  const none = createClockService({ clock: systemClock, answerMs: LONG_MS, command: `${command}-not` })
  await t.rejects(none.facts(), { code: 'clock_service_missing', message: /not installed/ })
  writeFileSync(command, '#!/bin/sh\nexec sleep 1000\n')
  const slow = createClockService({ clock: systemClock, answerMs: 50, command })
  await t.rejects(slow.facts(), { code: 'clock_service_missing', message: /no answer within/ })
  writeFileSync(command, '#!/bin/sh\nexec yes\n')
  await t.rejects(service.facts(), { code: 'clock_service_missing' }, 'one that says no end of things')
})

/** NTPMessage and ServerAddress of timesyncd as `busctl --json=short` prints their types. */
function fetchedText(wish: { stratum?: number; leap?: number; server?: number[] } = {}): string {
  const { leap = 0, server = [192, 0, 2, 1], stratum = 2 } = wish
  const times = '1900000000000000,1900000000001000,1900000000001000,1900000000002000'
  const message = `[${leap},4,4,${stratum},-23,15000,2500,[85,158,25,72],${times},false,7,1200]`
  const address = `[${server.length === 4 ? 2 : 10},[${server.join()}]]`
  return `{"type":"(uuuuittayttttbtt)","data":${message}}\n{"type":"(iay)","data":${address}}\n`
}

t.test('where timesyncd fetches the time, its server is told of as one step further away', async (t) => {
  const { command, put } = startClockServicePeer(t)
  const service = createClockService({ clock: systemClock, answerMs: LONG_MS, command })
  t.equal(await service.source(), undefined, 'it is not there')
  put('fetched', fetchedText())
  t.same(await service.source(), {
    ...{ leap: 0, stratum: 3, rootDelayS: 0.015, rootDispersionS: 0.0525, setAtMs: 1_900_000_000_002 },
    reference: Uint8Array.of(192, 0, 2, 1),
  })
  put('fetched', fetchedText({ leap: 1, server: [0xfd, ...new Array(14).fill(0), 1] }))
  t.match(await service.source(), { leap: 1, reference: { length: 16 } })
  for (const text of [
    fetchedText({ stratum: 0 }),
    fetchedText({ stratum: 15 }),
    fetchedText({ leap: 3 }),
    '[]',
    'x',
    '{}\n{}',
  ]) {
    put('fetched', text)
    t.equal(await service.source(), undefined, text)
  }
})
