import t from 'tap'
import { createAudioClock, openPipeline, type Sample, startGst } from '../index.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()

t.test('what an appsrc is given comes out of an appsink, each with its time', { skip }, async (t) => {
  startGst(['app', 'no-such-plugin'])
  const samples: Sample[] = []
  const over = Promise.withResolvers<void>()
  const caps = 'audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved'
  const pipeline = openPipeline(`appsrc name=in format=time caps=${caps} ! appsink name=out sync=false`, {
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
