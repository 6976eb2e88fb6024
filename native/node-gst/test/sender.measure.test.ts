/** When packets leave, by a clock on the wall. */
import t from 'tap'
import { gstMissing } from './gst-here.ts'
import { catchPackets } from './packet-catcher.ts'
import { agoFrames, GROUP, pathTo, sending } from './sending.ts'

const skip = gstMissing()

t.test('packets are spaced evenly, and how evenly is told', { skip }, async (t) => {
  const { port, until } = await catchPackets(t, GROUP)
  const { sender } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(500)
  const { lateUs, spacingUs } = sender.stats()
  t.ok(spacingUs !== null && Math.abs(spacingUs.p50 - 1000) < 100, `half of them after ${spacingUs?.p50} us`)
  t.ok(lateUs !== null && lateUs.p50 < 500, `half of them at most ${lateUs?.p50} us late`)
})

t.test('RFC 7273 5 a packet leaves when the audio clock reaches its timestamp', { skip }, async (t) => {
  const { port, packets, until } = await catchPackets(t, GROUP)
  const { clock } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(50)
  const ago = agoFrames(clock.read().audioNs, packets.at(-1)?.timestamp ?? 0)
  t.ok(ago >= 0 && ago < 48 * 20, `${ago} frames ago`)
})

t.test('a pipeline stops at once', { skip }, async (t) => {
  const { port, until } = await catchPackets(t, GROUP)
  const { pipeline } = await sending(t, 'audiotestsrc', { paths: [pathTo(port)] })
  await until(10)
  const began = performance.now()
  await pipeline.close()
  t.ok(performance.now() - began < 200)
})
