/** Tests of the elements that open a sound card; ALSA's own files and nothing stand in for cards. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAudioClock, type GstMessage, openPipeline } from '../index.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing() || (existsSync('/usr/share/alsa/alsa.conf') ? false : 'libasound2-data is not installed')

const capsOf = (channels: number) =>
  `audio/x-raw,format=S32LE,rate=48000,channels=${channels},layout=interleaved${channels > 2 ? ',channel-mask=(bitmask)0x0' : ''}`

function opened(t: Test, description: string) {
  const messages: GstMessage[] = []
  const pipeline = openPipeline(description, {
    clock: createAudioClock(),
    realtimePriority: 0,
    onMessage: (message) => void messages.push(message),
  })
  t.teardown(() => pipeline.close())
  const said = async (type: GstMessage['type']) => {
    for (let tries = 0; tries < 500; tries++) {
      const found = messages.find((message) => message.type === type)
      if (found) return found
      await sleep(10)
    }
    throw new Error(`no ${type}: ${JSON.stringify(messages)}`)
  }
  return { pipeline, said }
}

/** Plays samples of `channels` channels to a file of ALSA's. @returns what is in it */
async function playedToFile(t: Test, samples: Int32Array, channels: number): Promise<Buffer> {
  const folder = t.testdir({})
  const file = join(folder, 'played')
  writeFileSync(join(folder, 'in'), samples)
  const source = `filesrc location=${join(folder, 'in')} blocksize=${48 * 4 * channels} ! ${capsOf(channels)}`
  const device = `file:FILE=${file},FORMAT=raw`
  const { pipeline, said } = opened(
    t,
    `${source} ! plantroomcardsink name=card device="${device}" fill-ms=5 buffer-ms=2000`,
  )
  await pipeline.play()
  await said('eos')
  t.match(pipeline.get('card', 'format'), /^S32_LE, \d+ channels$/)
  t.equal(pipeline.get('card', 'starts'), 1n)
  t.equal(pipeline.get('card', 'dropped'), 0n)
  await pipeline.close()
  return readFileSync(file)
}

const noise = (length: number) => Int32Array.from({ length }, () => Math.round((2 * Math.random() - 1) * 2 ** 31) | 0)

for (const channels of [1, 2, 8]) {
  t.test(`what is played reaches the card as it is, behind its fill: ${channels} channels`, { skip }, async (t) => {
    const samples = noise(4800 * channels)
    const bytes = await playedToFile(t, samples, channels)
    const fill = (240 - 48) * channels * 4
    t.ok(bytes.subarray(0, fill).equals(Buffer.alloc(fill)), 'silence first')
    t.ok(bytes.subarray(fill).equals(Buffer.from(samples.buffer)))
  })
}

t.test('a card that captures gives live sound', { skip }, async (t) => {
  const { pipeline } = opened(t, `plantroomcardsrc name=card device=null ! ${capsOf(2)} ! fakesink name=end sync=false`)
  await pipeline.play()
  let fill = -1
  for (let tries = 0; tries < 200 && fill < 0; tries++) {
    await sleep(10)
    fill = Number(pipeline.get('card', 'fill'))
  }
  t.ok(fill > 0, `${fill} frames in its buffer`)
  t.ok(Number(pipeline.get('card', 'frames')) >= 48)
})

t.test('a card that is not there is an error with its name', { skip }, async (t) => {
  for (const pipe of [
    `audiotestsrc ! ${capsOf(2)} ! plantroomcardsink device=hw:29`,
    `plantroomcardsrc device=hw:29 ! fakesink`,
  ]) {
    const { pipeline, said } = opened(t, pipe)
    await pipeline.play().catch(() => {})
    const error = await said('error')
    t.match(error, { code: 'resource_not_found', message: /^the sound card hw:29 cannot be opened: No such / })
  }
})

t.test('closing does not wait for a card that gives nothing', { skip }, async (t) => {
  const { pipeline } = opened(t, `plantroomcardsrc device=null ! ${capsOf(2)} ! fakesink sync=true`)
  await pipeline.play()
  // Nothing ever comes: what waited for it would not end.
  t.equal(await pipeline.close(), undefined)
})
