import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { rowOf } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'
import { sightRows } from '../../core/sight/memory.ts'
import { createDetectorProcess } from '../../io/detector-process.ts'
import { createDetectorReader, writeDetectorMessage } from '../../wire/detector-message.ts'

const peer = join(import.meta.dirname, '../played-detector-child.ts')
const BYTES = 268_435_456

function open(t: Test, ...args: string[]) {
  const clock = fakeClock()
  const faults: (Fault | undefined)[] = []
  const detector = createDetectorProcess({
    ...{ clock, log: silentLog, command: args.length > 1 ? args : [process.execPath, peer, ...args] },
    limits: { startMs: 20_000, answerMs: 5000, processBytes: BYTES },
    onFault: (fault) => faults.push(fault),
  })
  t.teardown(() => detector.close())
  const ready = () => until('it is ready', async () => detector.wants() !== undefined, 60_000)
  const fallen = () => until('it has fallen', async () => faults.length > 0, 60_000)
  return { clock, detector, fallen, faults, ready }
}

/** 208 x 160 pixels, black but for a white square. */
function picture() {
  const [width, height] = [208, 160]
  const rgb = new Uint8Array(width * height * 3)
  for (let y = 40; y < 80; y++) rgb.fill(255, (y * width + 52) * 3, (y * width + 104) * 3)
  return { camera: 'c', at: 1, width, height, rgb }
}

const person = { label: 'person', score: 0.9, box: [0.25, 0.25, 0.5, 0.5] }

t.test('a detector is handed pictures, one at a time, and says what it sees', async (t) => {
  const { detector, ready } = open(t)
  t.equal(detector.health().state, 'starting')
  await ready()
  t.same(detector.wants(), { width: 208, height: 160 })
  const first = detector.judge(picture())
  const second = detector.judge(picture())
  t.match(await first, { boxes: [person], tookMs: 1.5 })
  t.match(await second, { boxes: [person] }, 'the second one has waited for its turn')
  t.match(detector.health(), { state: 'ready', name: 'played', pictures: 2, refusedBoxes: 0, fault: null })
  t.same(detector.recognises(), [], 'it has not said that it does')
})

t.test('one that lies harms nothing: what makes no sense is left out and counted', async (t) => {
  const { detector, ready } = open(t, 'lies')
  await ready()
  t.match((await detector.judge(picture())).boxes, [person])
  t.equal(detector.health().refusedBoxes, 5)
})

t.test('one that reads plates is asked in its turn, and what it makes up is left out and counted', async (t) => {
  const { detector, ready } = open(t, 'reads')
  await ready()
  t.same(detector.recognises(), ['plate'], 'what nobody knows is not listed')
  const [seen, read] = await Promise.all([detector.judge(picture()), detector.recognise(picture())])
  t.match(seen.boxes, [{ label: 'car' }])
  t.match(read.plates, [{ text: 'B-XY 1234', confidence: 0.93 }])
  t.equal(read.plates.length, 1)
  t.equal(detector.health().refusedBoxes, 8)
})

const BROKEN = { crashes: /ended by code 3/, babbles: /announced \d+ bytes/, floods: /announced \d+ bytes/ }
for (const [how, sentence] of Object.entries(BROKEN))
  t.test(`one that ${how} is ended, told, and begun again after a wait`, async (t) => {
    const { clock, detector, faults, ready } = open(t, how)
    await ready()
    await t.rejects(detector.judge(picture()), { code: 'detector_failed', message: sentence })
    t.match(detector.health(), { state: 'failed', crashes: 1, fault: { message: sentence } })
    clock.advance(1000)
    await ready()
    t.equal(faults.at(-1), undefined, 'it is well again')
  })

t.test('one that judges no picture is told as failed although it runs, until it judges one', async (t) => {
  const { detector, faults, ready } = open(t, 'fails')
  await ready()
  const fails = () => t.rejects(detector.judge(picture()), { code: 'detector_failed', message: /out of memory/ })
  await fails()
  await fails()
  t.match(detector.health(), { state: 'ready', fault: null }, 'a picture or two may be too much')
  await fails()
  t.match(detector.health(), { state: 'failed', crashes: 0, fault: { message: /out of memory/ } })
  t.match(faults, [{ code: 'detector_failed' }])
  t.match((await detector.judge(picture())).boxes, [person])
  t.match(detector.health(), { state: 'ready', fault: null })
  t.equal(faults.at(-1), undefined)
})

t.test('one that hangs is killed once its time is over', async (t) => {
  const { clock, detector, ready } = open(t, 'hangs')
  await ready()
  const judged = detector.judge(picture())
  // It waits for its turn, which is at once.
  await new Promise(setImmediate)
  clock.advance(5000)
  await t.rejects(judged, { message: /has not answered for 5 s/ })
})

t.test('one that is never ready, lacks something or is not there says so in health', async (t) => {
  const asleep = open(t, 'sleeps')
  asleep.clock.advance(20_000)
  await asleep.fallen()
  t.match(asleep.detector.health().fault, { message: /was not ready after 20 s/ })
  const lacking = open(t, 'lacks')
  await lacking.fallen()
  t.match(lacking.detector.health().fault, { message: /The model file is missing. Install plantroom-eyes-models\. / })
  const missing = open(t, '/nowhere/detector', '--fast')
  await missing.fallen()
  t.match(missing.detector.health(), { state: 'failed', fault: { code: 'detector_failed' } })
})

t.test('its memory is bounded as the memory plan says, and it is the first to go', async (t) => {
  const { detector, ready } = open(t)
  await ready()
  const pid = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ').at(-1)
  t.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '1000')
  t.match(readFileSync(`/proc/${pid}/limits`, 'utf8'), /Max data size\s+\d+/)
  t.equal(rowOf(sightRows(), 'the external detector', { 'detector.process_bytes': BYTES }).allBytes, BYTES)
  await detector.close()
})

t.test('messages are put together however they are cut, and nothing but a message is taken', async (t) => {
  const heads = fc.array(fc.record({ kind: fc.string(), id: fc.nat() }), { maxLength: 5 })
  fc.assert(
    fc.property(heads, fc.integer({ min: 1, max: 9 }), (sent, step) => {
      const bytes = Buffer.concat(sent.flatMap((head) => writeDetectorMessage(head, new Uint8Array())))
      const read = createDetectorReader()
      const heard: unknown[] = []
      for (let at = 0; at < bytes.length; at += step) heard.push(...read(bytes.subarray(at, at + step)))
      return JSON.stringify(heard) === JSON.stringify(sent)
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        createDetectorReader()(bytes)
        return true
      } catch (error) {
        return error instanceof Fault && error.code === 'detector_broken'
      }
    }),
  )
  const [first] = writeDetectorMessage({ a: 1 }, new Uint8Array(3))
  t.same([...(first ?? [])].slice(0, 8), [7, 0, 0, 0, 3, 0, 0, 0], 'little-endian')
})
