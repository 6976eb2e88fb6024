import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAudioClock, type GstMessage, openPipeline } from '../index.ts'
import type { Pipeline, PipelineOptions } from '../pipeline.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()

/** A pipeline and all that it has said; closed with the test. */
function opened(t: Test, description: string, options: Partial<PipelineOptions> = {}) {
  const messages: GstMessage[] = []
  const onMessage = (message: GstMessage) => void messages.push(message)
  const pipeline: Pipeline = openPipeline(description, {
    clock: createAudioClock(),
    realtimePriority: 0,
    onMessage,
    ...options,
  })
  t.teardown(() => pipeline.close())
  return { pipeline, messages }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 300 && !isSo(); tries++) await sleep(10)
}

t.test('a thousand pipelines leave no descriptor, no thread and little memory behind', { skip }, async (t) => {
  const count = (folder: string) => readdirSync(`/proc/self/${folder}`).length
  const clock = createAudioClock()
  const one = async () => {
    const pipeline = openPipeline('audiotestsrc ! audioconvert ! level ! fakesink sync=true', {
      clock,
      realtimePriority: 0,
      onMessage() {},
    })
    await pipeline.play()
    await pipeline.close()
  }
  const few = Array.from({ length: 10 })
  for (const _ of few) await Promise.all(few.map(one))
  const [descriptors, threads, rss] = [count('fd'), count('task'), process.memoryUsage().rss]
  for (let round = 0; round < 90; round++) await Promise.all(few.map(one))
  await until(() => count('fd') <= descriptors + 4 && count('task') <= threads + 10)
  t.ok(count('fd') <= descriptors + 4, `${count('fd')} descriptors, ${descriptors} before`)
  t.ok(count('task') <= threads + 10, `${count('task')} threads, ${threads} before`)
  const grownMb = (process.memoryUsage().rss - rss) / 1e6
  t.ok(grownMb < 16, `${grownMb.toFixed(1)} MB more`)
})

t.test('says what is playing by level, as plain arrays', { skip }, async (t) => {
  const source = 'audiotestsrc freq=1000 volume=0.5 ! audio/x-raw,rate=48000,channels=2'
  const { pipeline, messages } = opened(t, `${source} ! level name=meter interval=20000000 ! fakesink sync=true`)
  await pipeline.play()
  await until(() => messages.length > 1)
  const [first] = messages
  t.match(first, { type: 'level', element: 'meter', peakDb: [Number, Number], rmsDb: [Number, Number] })
  if (first?.type !== 'level') return
  t.ok(Math.abs((first.peakDb[1] ?? 0) + 6.02) < 0.05, `peak ${first.peakDb[1]} dB`)
  t.ok(Math.abs((first.rmsDb[0] ?? 0) + 9.03) < 0.05, `rms ${first.rmsDb[0]} dB`)
})

t.test('says that a stream has ended', { skip }, async (t) => {
  const { pipeline, messages } = opened(t, 'audiotestsrc num-buffers=3 ! fakesink')
  await pipeline.play()
  await until(() => messages.length > 0)
  t.same(messages, [{ type: 'eos' }])
})

t.test('a pipeline that cannot start says why, as a message and to whoever started it', { skip }, async (t) => {
  const cases: [description: string, code: string][] = [
    ['filesrc location=/nonexistent ! fakesink', 'resource_not_found'],
    ['audiotestsrc ! filesink location=/nonexistent/there', 'resource_open_write'],
  ]
  for (const [description, code] of cases) {
    const { pipeline, messages } = opened(t, description)
    await t.rejects(pipeline.play(), { code: 'gst_play', message: /(src|sink)\d+: / }, description)
    await until(() => messages.length > 0)
    t.match(messages[0], { type: 'error', code, message: String, debug: String }, description)
  }
})

t.test('a pipeline that dies later says why', { skip }, async (t) => {
  const { pipeline, messages } = opened(t, `filesrc location=${import.meta.filename} ! decodebin ! fakesink`)
  await pipeline.play()
  await until(() => messages.length > 0)
  t.match(messages[0], { type: 'error', element: /decodebin|typefind/, code: /^stream_/ })
})

t.test('a description with a mistake throws', { skip }, async (t) => {
  t.throws(() => opened(t, 'teapot ! fakesink'), { code: 'no_element', message: /teapot/ })
  t.throws(() => opened(t, 'audiotestsrc teapot=1 ! fakesink'), { code: 'bad_pipeline', message: /teapot/ })
  t.throws(() => opened(t, 'audiotestsrc ! '), { code: 'bad_pipeline' })
  t.throws(() => opened(t, ''), { code: 'bad_pipeline' })
})

t.test(
  'properties are set and read while it plays; wrong names and values throw with what there is',
  { skip },
  async (t) => {
    const { pipeline, messages } = opened(t, 'audiotestsrc name=tone ! volume name=fader ! level ! fakesink sync=true')
    await pipeline.play()
    // A source's wave must not be set while its thread agrees on a format.
    await until(() => messages.length > 0)
    pipeline.set('fader', 'volume', 0.25)
    pipeline.set('fader', 'mute', true)
    pipeline.set('tone', 'wave', 'pink-noise')
    pipeline.set('tone', 'samplesperbuffer', 480)
    pipeline.set('tone', 'timestamp-offset', -5n)
    const read = ['volume', 'mute'].map((name) => pipeline.get('fader', name))
    t.same(read, [0.25, true])
    const tone = ['wave', 'samplesperbuffer', 'timestamp-offset'].map((name) => pipeline.get('tone', name))
    t.same(tone, ['pink-noise', 480, -5n])
    type Setting = [element: string, property: string, value: number | bigint | string | boolean]
    const refused = (setting: Setting, fault: { code: string; message?: string | RegExp }) =>
      t.throws(() => pipeline.set(...setting), fault, `${setting}`)
    refused(['teapot', 'volume', 1], { code: 'no_element', message: /there are .*fader.*tone/ })
    refused(['fader', 'loudness', 1], { code: 'no_property', message: /it has .*mute.*volume/ })
    refused(['fader', 'volume', 11], { code: 'bad_value', message: 'fader.volume takes a number 0.000000..10.000000' })
    refused(['fader', 'volume', 'loud'], { code: 'bad_value' })
    refused(['fader', 'mute', 1], { code: 'bad_value', message: 'fader.mute takes true or false' })
    refused(['tone', 'samplesperbuffer', 0], { code: 'bad_value', message: /a whole number 1\.\.2147483647/ })
    refused(['tone', 'samplesperbuffer', 1.5], { code: 'bad_value' })
    refused(['tone', 'samplesperbuffer', 2n ** 70n], { code: 'bad_value' })
    refused(['tone', 'wave', 'square-ish'], { code: 'bad_value', message: /GstAudioTestSrcWave/ })
    await pipeline.close()
    refused(['fader', 'volume', 1], { code: 'closed' })
  },
)

t.test('threads ask for real-time priority, and the answer is told', { skip }, async (t) => {
  const { pipeline } = opened(t, 'audiotestsrc ! fakesink sync=true', { realtimePriority: 1 })
  t.same(pipeline.realtime(), { asked: 1, granted: false, error: null })
  await pipeline.play()
  await until(() => pipeline.realtime().granted || pipeline.realtime().error !== null)
  const { granted, error } = pipeline.realtime()
  t.equal(granted, error === null)
  if (error !== null) t.equal(error, 'Operation not permitted')
})

t.test('a process that is too slow loses levels, counted, and no end of the stream', { skip }, async (t) => {
  const { pipeline, messages } = opened(t, 'audiotestsrc num-buffers=200 ! level interval=1000000 ! fakesink', {
    queue: 8,
  })
  await pipeline.play()
  // Nothing is heard while this process is busy.
  const busyUntil = performance.now() + 200
  while (performance.now() < busyUntil);
  await until(() => messages.at(-1)?.type === 'eos')
  t.equal(messages.at(-1)?.type, 'eos')
  t.ok(pipeline.dropped() > 0, `${pipeline.dropped()} dropped`)
})

t.test('a loop plays a file again and again', { skip }, async (t) => {
  const file = `${t.testdir({})}/short.wav`
  const made = opened(t, `audiotestsrc num-buffers=10 ! wavenc ! filesink location=${file}`)
  await made.pipeline.play()
  await until(() => made.messages.length > 0)
  await made.pipeline.close()
  const looped = `filesrc location=${file} ! decodebin ! level interval=10000000 ! fakesink sync=true`
  const { pipeline, messages } = opened(t, looped, { loop: true })
  await pipeline.play()
  // 10 buffers of 1024 frames at 44.1 kHz are 232 ms.
  await until(() => messages.length > 60)
  t.notOk(messages.find(({ type }) => type === 'eos'))
  t.ok(messages.length > 60, `${messages.length} levels of 10 ms`)
})
