import t, { type Test } from 'tap'
import { createAudioClock, type GstMessage, openPipeline, readSample, type Sample, startGst } from '../index.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()
const RAW = 'audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved'

t.test('what an appsrc is given comes out of an appsink, each with its time', { skip }, async (t) => {
  startGst(['app', 'no-such-plugin'])
  const samples: Sample[] = []
  const over = Promise.withResolvers<void>()
  const pipeline = openPipeline(`appsrc name=in format=time caps=${RAW} ! appsink name=out sync=false`, {
    clock: createAudioClock(),
    realtimePriority: 0,
    onMessage(message) {
      if (message.type === 'sample')
        for (let one = pipeline.pull(message.element); one; one = pipeline.pull(message.element)) samples.push(one)
      if (message.type === 'eos') over.resolve()
    },
  })
  t.teardown(() => pipeline.close())
  await pipeline.play()
  const given = [Uint8Array.of(1, 2, 3, 4), Uint8Array.of(5, 6)]
  for (const [at, bytes] of given.entries()) t.ok(pipeline.push('in', { bytes, ptsNs: at * 1e9, durationNs: 1e9 }))
  pipeline.end('in')
  await over.promise
  t.same(
    samples.map(({ bytes, ptsNs }) => [[...bytes], ptsNs]),
    [
      [[1, 2, 3, 4], 0],
      [[5, 6], 1e9],
    ],
  )
  t.match(samples[0]?.caps, /^audio\/x-raw, /)
  t.equal(pipeline.pull('out'), undefined)
  t.equal(pipeline.push('in', { bytes: Uint8Array.of(7), ptsNs: 0, durationNs: 0 }), false, 'it has ended')
  t.throws(() => pipeline.push('out', { bytes: Uint8Array.of(7), ptsNs: 0, durationNs: 0 }), { code: 'no_element' })
  t.throws(() => pipeline.pull('other'), { code: 'no_element' })
})

/** A pipeline that plays; `next` resolves with its next message of a kind. */
async function playing(test: Test, description: string) {
  startGst(['app'])
  const awaited = new Map<string, (message: GstMessage) => void>()
  const onMessage = (message: GstMessage) => awaited.get(message.type)?.(message)
  const pipeline = openPipeline(description, { clock: createAudioClock(), realtimePriority: 0, onMessage })
  test.teardown(() => pipeline.close())
  await pipeline.play()
  return { pipeline, next: (kind: string) => new Promise((resolve) => void awaited.set(kind, resolve)) }
}

const sink = 'appsink name=out sync=false async=false'
const second = (at: number) => ({ bytes: Uint8Array.of(at, 0), ptsNs: at * 1e9, durationNs: 1e9 })

t.test('what is drained has come out, and more may follow', { skip }, async (t) => {
  const { next, pipeline } = await playing(t, `appsrc name=in format=time caps=${RAW} ! ${sink}`)
  for (const round of [0, 10]) {
    const drained = next('drained')
    for (const at of [round, round + 1]) pipeline.push('in', second(at))
    pipeline.drain('in', (round + 2) * 1e9)
    t.same(await drained, { type: 'drained', element: 'out' })
    t.same([pipeline.pull('out')?.bytes[0], pipeline.pull('out')?.bytes[0]], [round, round + 1])
    t.equal(pipeline.pull('out'), undefined)
  }
  t.throws(() => pipeline.drain('out', 0), { code: 'no_element' })
})

t.test('an element takes only what has the time that is wanted', { skip }, async (t) => {
  const flow = `appsrc name=in format=time caps=${RAW} ! identity name=gate ! ${sink}`
  const { next, pipeline } = await playing(t, flow)
  for (const [round, wanted] of [1, 12].entries()) {
    pipeline.letOnlyIn('gate', wanted * 1e9)
    const drained = next('drained')
    for (const at of [0, 1, 2]) pipeline.push('in', second(round * 10 + at))
    pipeline.drain('in', (round * 10 + 3) * 1e9)
    await drained
    t.equal(pipeline.pull('out')?.bytes[0], wanted)
    t.equal(pipeline.pull('out'), undefined)
  }
  t.throws(() => pipeline.letOnlyIn('nothing', 0), { code: 'no_element' })
  t.throws(() => pipeline.letOnlyIn('in', 0), { code: 'no_element' }, 'it has no way in')
})

t.test('a sample is handed on as it is, once', { skip }, async (t) => {
  const first = await playing(t, `appsrc name=in format=time caps=${RAW} ! ${sink}`)
  const other = await playing(t, `appsrc name=in format=time caps=${RAW} ! ${sink}`)
  const come = first.next('sample')
  first.pipeline.push('in', second(7))
  await come
  const held = first.pipeline.take('out')
  if (!held) throw new Error('there is no sample')
  t.same([held.ptsNs, held.length], [7e9, 2])
  const gone = other.next('sample')
  t.ok(other.pipeline.push('in', { bytes: held.held, ptsNs: 3e9, durationNs: 1e9 }))
  await gone
  t.match(other.pipeline.pull('out'), { ptsNs: 3e9, bytes: Uint8Array.of(7, 0) })
  t.throws(() => readSample(held), { code: 'bad_value' })
  t.throws(() => other.pipeline.push('in', { bytes: held.held, ptsNs: 4e9, durationNs: 1e9 }), { code: 'bad_value' })
})
