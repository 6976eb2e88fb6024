import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { noSound, startDecoder, startEncoder } from './audio-board.ts'
import { worstClick } from './clicks.ts'
import { sinePattern } from './pattern.ts'
import { channelOf, fitTone } from './tone.ts'
import { writeWav } from './wav.ts'

const skip = noSound()
const RATE = 48_000
const HZ = 997
/** Relative to full scale, at the loudest level of the tone. Ramps of 20 ms read -68 dB at worst, 5 ms -56, a step -18. */
const CLICK_DB = -60
const PLAYED_MS = 400

t.test('B.volume steps of volume and mute are ramps of 20 ms, without a click', { skip }, async (t) => {
  const level = 10 ** (-13 / 20)
  const path = join(t.testdir({}), 'sine.wav')
  // One second holds whole periods: it loops without a seam.
  writeWav(path, { channels: 1, bits: 24, frames: RATE }, sinePattern(24, 1, HZ, level).sample)
  const stream = { mcast: '239.192.74.1', port: 25_504, channels: 1 }
  const [decoder] = await Promise.all([
    startDecoder(t, { settings: { ...stream, mcast: '' } }),
    startEncoder(t, `file:${path}`, { settings: stream }),
  ])
  await decoder.post('/api/volume_db', { volume_db: '0' })
  await decoder.route({ mcast: stream.mcast, port: String(stream.port), link_ms: '100' })
  await decoder.recordsFor(2 * RATE)
  const begin = decoder.recorded().samples.length
  const steps: [string, Record<string, string>, number | null][] = [
    ['/api/volume_db', { volume_db: '-20' }, -20],
    ['/api/volume_db', { volume_db: '12' }, 12],
    ['/api/mute', { mute: '1' }, null],
    ['/api/mute', { mute: 'toggle' }, 12],
    ['/api/volume', { volume: '0' }, null],
    ['/api/volume_db', { volume_db: '0' }, 0],
  ]
  const places: number[] = []
  for (const [path, form] of steps) {
    t.equal((await decoder.post(path, form)).status, 200)
    await sleep(PLAYED_MS)
    places.push(decoder.recorded().samples.length)
  }
  await decoder.recordsFor(RATE / 2)
  const samples = channelOf(decoder.recorded().samples, 1, 0, [begin - RATE / 2, Number.POSITIVE_INFINITY])
  const click = worstClick(samples, 24, HZ)
  t.ok(click.db < CLICK_DB, `${click.db} dB at ${click.frame} of ${samples.length}`)
  for (const [at, [, form, db]] of steps.entries()) {
    const end = (places[at] ?? 0) - RATE / 20
    const steady = decoder.recorded().samples.subarray(end - RATE / 20, end)
    const loudest = steady.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 2 ** 23
    const title = `${JSON.stringify(form)}: ${loudest}`
    if (db === null) t.equal(loudest, 0, title)
    else t.ok(Math.abs(fitTone(steady, 24, HZ).level / (level * 10 ** (db / 20)) - 1) < 0.001, title)
  }
})
