import { readFileSync } from 'node:fs'
import t from 'tap'
import { areSameAllYear, offsetAt, readPosixZone } from '../../../core/clocks/time-zone.ts'

const HOUR_MS = 3_600_000
const from = Date.UTC(2026, 5, 1)

/** What the system's own rules say. One formatter for all instants of a zone: making it takes most of the time. */
function trueOffsets(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' })
  return (atMs) => {
    const said = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d+)(?::(\d+))?/.exec(said) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  }
}

t.test('a string means what the database of zones says, at every change of two years', async (t) => {
  for (const zone of [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Sydney',
    'Asia/Kolkata',
    'America/St_Johns',
    'Pacific/Chatham',
    'UTC',
    'Asia/Tehran',
    'Europe/Dublin',
  ]) {
    const text = readFileSync(`/usr/share/zoneinfo/${zone}`, 'latin1').trimEnd().split('\n').at(-1) ?? ''
    const read = readPosixZone(text)
    t.ok(read, `${zone}: ${text}`)
    if (!read) continue
    const trueOffset = trueOffsets(zone)
    const wrong = Array.from({ length: 2 * 366 * 8 }, (_, at) => from + at * 3 * HOUR_MS).find(
      (atMs) => offsetAt(read, atMs) !== trueOffset(atMs),
    )
    t.equal(wrong && new Date(wrong).toISOString(), undefined, zone)
  }
})

t.test('strings that mean the same all year are the same, however they are written', async (t) => {
  const isSame = (one: string, other: string) => {
    const [a, b] = [readPosixZone(one), readPosixZone(other)]
    return a && b && areSameAllYear(a, b, from)
  }
  t.equal(isSame('CET-1CEST,M3.5.0,M10.5.0/3', 'MEZ-1:00:00MESZ-2:00:00,M3.5.0/02:00:00,M10.5.0/03:00:00'), true)
  t.equal(isSame('CET-1CEST,M3.5.0,M10.5.0/3', 'CET-1'), false)
  t.equal(isSame('CET-1CEST,M3.5.0,M10.5.0/3', 'CET-1CEST,M3.3.0,M10.5.0/3'), false, 'a week apart')
  t.equal(isSame('UTC0', 'GMT+00:00'), true)
  t.equal(isSame('<+0330>-3:30', 'IRST-3:30'), true)
  t.equal(isSame('EST5EDT', 'EST5EDT,M3.2.0,M11.1.0'), true)
  t.equal(isSame('ABC-1DEF,J60,J300', 'ABC-1DEF,59,299'), true, 'not a leap year')
})

t.test('what is no such string is none', async (t) => {
  for (const text of [
    '',
    'Europe/Berlin',
    'CET',
    '+1',
    'CET-1CEST,M13.1.0,M10.5.0',
    'CET-1CEST,M3.5.0',
    'CET-1CEST,x,y',
    'CET-1CEST,M3.5.0/a,M10.5.0',
    '<x>-1',
    'CET-1\n'.repeat(20),
  ])
    t.equal(readPosixZone(text), undefined, text)
})
