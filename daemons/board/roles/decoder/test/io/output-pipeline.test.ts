import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { createAudioClock } from '#native/node-gst/index.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { createOutputOpener } from '../../io/output-pipeline.ts'

t.test('a sound card that cannot be opened is reported, however soon it fails', { skip: gstMissing() }, async (t) => {
  const opener = createOutputOpener({
    ...{
      clock: systemClock,
      log: silentLog,
      audio: createAudioClock(),
      channels: 2,
      realtimePriority: 0,
      recordBytes: 1e9,
    },
    sink: { kind: 'alsa', device: 'nobody_has_it' },
    card: { fillMs: 5, bufferMs: 40, mostPpm: 1000, lookMs: 1000 },
  })
  const told: string[] = []
  for (let round = 0; round < 5; round++) {
    const before = told.length
    const note = (why: string) => void told.push(why)
    // It fails while it is opened, or right after: which comes first is chance.
    const output = await opener.open({ level() {}, died: note }).catch((fault: Error) => note(fault.message))
    for (let tries = 0; tries < 100 && told.length === before; tries++) await sleep(10)
    await output?.close()
    t.ok(told.length > before, `round ${round}`)
  }
  for (const why of told) t.match(why, /^The sound card nobody_has_it /)
})
