import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAudioClock, openPipeline, openReceiver } from '#native/node-gst/index.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { createRecoveredClock } from '../../core/sound/recovered-clock.ts'
import { compare } from './compare.ts'
import { jitter } from './faults.ts'
import { countedPattern } from './pattern.ts'
import { startSender } from './rtp-sender.ts'

const skip = gstMissing()
const LOOK_MS = 250

t.test(
  'a sender on its own clock is played at its pace, sample for sample, through 5 ms of jitter',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plantroom-arrival-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const group = '239.67.6.1'
    const [board, own] = [createAudioClock(), createAudioClock()]
    const receiver = openReceiver({
      ...{ clock: own, sync: 'arrival', encoding: 'L24', channels: 2, payloadType: null, mediaOffset: 0 },
      paths: [{ group, port: 5004, interfaceAddress: '127.0.0.1', source: null }],
      ...{ linkNs: 400_000_000n, concealPackets: 3, ringMs: 2000, receiveBufferBytes: 1 << 20 },
      ...{ senderGoneMs: 2000, realtimePriority: 0 },
    })
    const pattern = countedPattern(24, 2)
    // Timestamps of an unknown clock, 100 ppm fast.
    const sent = { encoding: 'L24', channels: 2, sample: pattern.sample, timestamp: 0xffff_8000, ppm: 100 } as const
    await startSender(t, { ...sent, to: [{ group, port: 5004, fault: jitter(5, 3) }] })
    const recovered = createRecoveredClock()
    const look = () => {
      const arrivals = receiver.takeArrivals()
      const { anchors } = receiver.stats()
      const { monotonicNs: nowNs } = own.read()
      const calibration = recovered.look({ nowNs, fastest: arrivals?.fastest ?? null, anchors })
      if (calibration) own.calibrate(calibration)
    }
    await sleep(2 * LOOK_MS)
    look()
    const description = `plantroomrtpsrc name=in channels=2 receiver=${receiver.id} ! filesink location=${folder}/sound`
    const pipeline = openPipeline(description, { clock: board, realtimePriority: 0, onMessage: () => {} })
    await pipeline.play()
    for (let looks = 0; looks < 12; looks++) {
      await sleep(LOOK_MS)
      look()
    }
    const stats = receiver.stats()
    await pipeline.close()
    receiver.close()
    const bytes = readFileSync(`${folder}/sound`)
    const samples = new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
    const heard = compare(
      samples.map((sample) => sample >> 8),
      pattern,
    )
    t.match(stats, { lost: 0, late: 0, glitches: 0, anchors: 1, sender: '127.0.0.1' })
    t.same(heard.jumps, [])
    t.match(heard, { wrong: 0, silent: 0 })
    t.ok(heard.equal > 2 * 48_000, 'more than two seconds', { equal: heard.equal })
    t.equal(recovered.steps(), 0)
  },
)
