/** What the recorder's pages say and reckon, without a browser: daemons/recorder/web/timeline.ts and camera-words.ts. */
import t from 'tap'
import type { Camera, Disk } from '../../web/api.ts'
import { judgeCameras, sortCameras, stateText, whyText } from '../../web/camera-words.ts'
import { whatGoes } from '../../web/deletions.ts'
import { judgeDisks } from '../../web/disks.ts'
import {
  dayNamed,
  dayOf,
  marksOf,
  stretchAfter,
  stretchAt,
  stretchBefore,
  typedTime,
  within,
} from '../../web/timeline.ts'

const ZONE = 'Europe/Amsterdam'
const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 10, 26, 11)
const stretches = [
  { start: NOON, end: NOON + 60_000 },
  { start: NOON + 120_000, end: NOON + 180_000 },
]

t.test('a day is that of the site, and has 23 or 25 hours where clocks are changed', async (t) => {
  t.same(dayOf(NOON, ZONE), { date: '2026-11-26', start: NOON - 12 * HOUR_MS, end: NOON + 12 * HOUR_MS })
  const hours = (date: string) => (dayNamed(date, ZONE).end - dayNamed(date, ZONE).start) / HOUR_MS
  t.same(['2026-03-29', '2026-10-25', '2026-07-01'].map(hours), [23, 25, 24])
  t.ok(Number.isNaN(dayNamed('2026-13-01', ZONE).start))
})

t.test('a time is taken as people type it, and nothing else is', async (t) => {
  const typed = (text: string) => typedTime(text, '2026-11-26', ZONE)
  for (const text of ['12', '12:00', '12.00', '1200', '120000', ' 12:00:00 ']) t.equal(typed(text), NOON, text)
  t.equal(typed('9:05:30'), NOON - 3 * HOUR_MS + 330_000)
  for (const text of ['', 'noon', '24:00', '12:60', '12:00:61', '12:00:00:00', '-1', '1e3'])
    t.equal(typed(text), undefined, text)
})

t.test('a moment is in a stretch up to its end, which is that of a hole', async (t) => {
  t.equal(stretchAt(stretches, NOON), stretches[0])
  t.equal(stretchAt(stretches, NOON + 60_000), undefined)
  t.equal(stretchAfter(stretches, NOON + 60_000), stretches[1])
  t.equal(stretchAfter(stretches, NOON + 120_000), undefined)
  t.equal(stretchBefore(stretches, NOON + 150_000), stretches[1], 'first back to where this one began')
  t.equal(stretchBefore(stretches, NOON + 121_000), stretches[0])
  t.equal(stretchBefore(stretches, NOON + 1000), undefined)
  const part = { start: NOON + 30_000, end: NOON + 130_000 }
  t.same(within(stretches, part), [
    { start: NOON + 30_000, end: NOON + 60_000 },
    { start: NOON + 120_000, end: NOON + 130_000 },
  ])
})

t.test('a stretch too short to be seen is drawn, and none stands out at the end', async (t) => {
  const day = { start: 0, end: 1_000_000 }
  t.same(marksOf([{ start: 0, end: 500_000 }], day), [{ left: 0, width: 50 }])
  const [short, last] = marksOf(
    [
      { start: 100_000, end: 100_001 },
      { start: 999_999, end: 2_000_000 },
    ],
    day,
  )
  t.ok(short && short.width > 0.1)
  t.ok(last && last.left + last.width <= 100)
})

function camera(name: string, state: Camera['health']['state'], message = ''): Camera {
  const fault = message === '' ? null : { code: 'camera_away', message }
  const health = { state, stateSince: NOON, fault, nextTryAt: fault && NOON + 12_000, lastPictureAt: null }
  return {
    id: name,
    name,
    enabled: state !== 'off',
    onvif: false,
    recordProfile: null,
    audio: true,
    masked: false,
    ...{ cameraEvents: false, cameraEventsStatus: null, outputs: [], outputsProbedAt: null, outputsNotes: null },
    mode: 'record',
    talkback: { supported: false, probedAt: null, reason: null },
    transport: 'tcp',
    health,
  }
}

t.test('what is not recorded is said first, with why and what to do', async (t) => {
  const when = { nowMs: NOON + 5000, zone: ZONE }
  const lost = camera('Yard', 'lost', 'The camera does not answer.')
  const all = [camera('Door', 'recording'), camera('Attic', 'off'), lost]
  t.same(
    sortCameras(all).map(({ name }) => name),
    ['Yard', 'Door', 'Attic'],
  )
  t.equal(stateText(lost, when), 'No contact since 12:00')
  t.equal(whyText(lost, when), 'The camera does not answer. Next try in 7\u202fs.')
  t.match(judgeCameras(all, when), { lit: 'fault', sentence: 'Yard is not recorded. 1 of 2 is.' })
  t.match(judgeCameras([camera('Door', 'recording'), camera('Hall', 'recording')], when), {
    ...{ lit: 'ok', sentence: 'Both cameras are recorded.' },
  })
  const lab = { ...camera('Lab', 'recording'), mode: 'intelligence_only' as const }
  t.equal(stateText(lab, when), 'Watched, not recorded, since 12:00')
  const mixed = judgeCameras([camera('Door', 'recording'), lab], when)
  t.match(mixed, {
    lit: 'ok',
    sentence: 'The camera is recorded.',
    why: /^Lab is watched, and no footage of it is kept/,
  })
  t.match(judgeCameras([camera('Attic', 'off')], when), { lit: 'off' })
  const refused = camera('Gate', 'refused', 'The camera does not take this password.')
  t.match(judgeCameras([refused], when).why, /type the user and password/)
})

t.test('a disk that is out is said before all else, with what to do and whether the others go on', async (t) => {
  const disk = (folder: string, state: Disk['state']): Disk => {
    const fault = state === 'here' ? null : { code: `disk_${state}`, message: `There is no disk at ${folder}.` }
    const sizes = { sizeBytes: 1e12, freeBytes: 5e11, roomBytes: 4e11, footageBytes: 1e11 }
    return { id: 'x', folder, state, stateSince: NOON, fault, ...sizes }
  }
  t.equal(judgeDisks({ disks: [disk('/mnt/one', 'here')] }), undefined)
  t.match(judgeDisks({ disks: [disk('/mnt/one', 'here'), disk('/mnt/two', 'away')] }), {
    ...{ lit: 'warn', sentence: /^1 of 2 disks is not written/, why: 'There is no disk at /mnt/two.' },
  })
  t.match(judgeDisks({ disks: [disk('/mnt/two', 'failing')] }), { lit: 'fault', sentence: /^Nothing is recorded/ })
})

t.test('what less days, bytes or free space delete is said with the time, the cameras and how much', async (t) => {
  const DAY_MS = 24 * HOUR_MS
  const before = { keepDays: 30, keepBytes: 1e12, freeBytes: 2e9, cameras: { yard: 60 } }
  const disk = { folder: '/a', footageBytes: 50e9, freeBytes: 10e9 } as Disk
  const cameras = [
    { id: 'door', name: 'Door', oldestAt: NOON - 20 * DAY_MS },
    { id: 'hall', name: 'Hall', oldestAt: NOON - 9 * DAY_MS },
    { id: 'yard', name: 'Yard', oldestAt: NOON - 50 * DAY_MS },
    { id: 'new', name: 'New', oldestAt: undefined },
  ]
  const goes = (change: Partial<typeof before>) =>
    whatGoes({ before, after: { ...before, ...change }, cameras, disks: [disk], nowMs: NOON, zone: ZONE })
  t.same(goes({ keepDays: 40, keepBytes: 2e12, freeBytes: 0 }), [], 'more is kept')
  t.same(goes({ keepDays: 25 }), [], 'nothing is so old')
  t.same(goes({ keepDays: 7 }), [
    'Keeping 7 days instead of 30 deletes footage of Door and Hall from before 2026-11-19 12:00.',
  ])
  t.same(goes({ keepDays: 10, cameras: { yard: 1 } }), [
    'Keeping 10 days instead of 30 deletes footage of Door from before 2026-11-16 12:00.',
    'Keeping 1 day instead of 60 deletes footage of Yard from before 2026-11-25 12:00.',
  ])
  t.match(goes({ keepBytes: 20e9 }), [/^Keeping 20.GB in all deletes the oldest 30.GB\.$/])
  t.match(goes({ freeBytes: 25e9 }), [/^Keeping 25.GB free deletes about 15.GB, the oldest in \/a\.$/])
  t.match(goes({ freeBytes: 1e12 }), [/ about 50.GB, /], 'no more than there is')
})
