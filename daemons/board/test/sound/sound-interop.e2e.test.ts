import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { noSound, startDecoder, startEncoder } from './audio-board.ts'
import { compare } from './compare.ts'
import { ffmpegRecords, ffmpegSends, gstRecords, gstSends, startPeer } from './other-programs.ts'
import { countedPattern } from './pattern.ts'
import { readWav, writeWav } from './wav.ts'

const skip = noSound('gst-launch-1.0', 'ffmpeg')
const RATE = 48_000
/** Seconds that a sender plays; in the first of them its clock is being found, which can move the sound (docs/decisions/audio-clocking.md). */
const PLAYED_S = 8
const FINDING_S = 5
/** These senders are ordinary programs, which a busy machine delays: this test is only about exactness. */
const LINK_MS = '500'
const pattern = countedPattern(24, 2)

t.test('AES67 a decoder plays what GStreamer and FFmpeg send, sample for sample', { skip }, async (t) => {
  const path = join(t.testdir({}), 'known.wav')
  writeWav(path, { channels: 2, bits: 24, frames: PLAYED_S * RATE }, pattern.sample)
  const decoder = await startDecoder(t)
  for (const [at, [name, sends]] of Object.entries({ gst: gstSends, ffmpeg: ffmpegSends }).entries()) {
    await t.test(name, async (t) => {
      const place = { group: `239.192.71.${at + 1}`, port: 25_204 }
      const begin = decoder.recorded().samples.length
      await decoder.route({ mcast: place.group, port: String(place.port), link_ms: LINK_MS })
      const sender = startPeer(t, sends(path, place))
      t.equal(await sender.ended, 0, sender.said())
      await decoder.recordsFor(RATE / 2)
      const whole = decoder.recorded().samples.subarray(begin)
      const first = compare(whole, pattern).begin?.recorded ?? 0
      const found = compare(whole.subarray((first + FINDING_S * RATE) * 2), pattern)
      t.match(found, { wrong: 0, silent: 0, jumps: { length: 0 } }, JSON.stringify(found))
      t.ok(found.equal > (PLAYED_S - FINDING_S - 1) * RATE, `${found.equal} frames are equal`)
      const end = (found.begin?.pattern ?? 0) + found.equal
      // The last packet fades into silence, and the concealment of the next one can continue like the pattern.
      t.ok(Math.abs(end - PLAYED_S * RATE) <= 48, `to frame ${end} of ${PLAYED_S * RATE}`)
      t.match((await decoder.get('/api/route')).body, { mcast: place.group, encoding: 'L24', channels: 2 })
    })
  }
})

t.test('AES67 GStreamer and FFmpeg play what an encoder sends, sample for sample', { skip }, async (t) => {
  const folder = t.testdir({})
  const place = { group: '239.192.71.3', port: 25_206 }
  const looped = countedPattern(24, 2, 2 ** 16)
  writeWav(join(folder, 'known.wav'), { channels: 2, bits: 24, frames: looped.period }, looped.sample)
  const encoder = await startEncoder(t, `file:${join(folder, 'known.wav')}`, {
    settings: { mcast: place.group, port: place.port },
  })
  const { body: sdp } = await encoder.get('/stream.sdp')
  const sdpPath = join(folder, 'stream.sdp')
  writeFileSync(sdpPath, sdp)
  const paths = { gst: join(folder, 'gst.wav'), ffmpeg: join(folder, 'ffmpeg.wav') }
  const peers = [startPeer(t, gstRecords(paths.gst, place, 2)), startPeer(t, ffmpegRecords(paths.ffmpeg, sdpPath))]
  const hasSound = (path: string) => existsSync(path) && statSync(path).size > 2 * 3 * 3 * RATE
  await until('both have recorded three seconds', () => Object.values(paths).every(hasSound), 30_000)
  for (const peer of peers) await peer.stop()
  for (const [name, path] of Object.entries(paths)) {
    const { samples, ...format } = readWav(path)
    t.same(format, { rate: RATE, channels: 2, bits: 24 })
    const found = compare(samples, looped)
    t.ok(found.equal > 2 * RATE, `${name}: ${found.equal} frames are equal`)
    t.match(found, { wrong: 0, silent: 0, jumps: { length: 0 } }, name)
  }
})
