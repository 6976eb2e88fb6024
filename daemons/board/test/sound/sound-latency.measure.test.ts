import t from 'tap'
import { noCapture } from '#kit/test/no-capture.ts'
import { noSound } from './audio-board.ts'
import { measureLatency } from './latency.ts'

const skip = noSound('tshark', 'dumpcap', 'python3') || noCapture()
/** The bench checks it to 0.2 ms; here other programs can use the machine. */
const OFF_MS = 1

t.test(
  'B.route link_ms is the time from the sample at the sender to its sound',
  { skip, timeout: 90_000 },
  async (t) => {
    for (const { linkMs, median, all } of await measureLatency(t, [1, 2, 5, 10, 20], 10)) {
      t.ok(all.length >= 5, `${all.length} impulses at ${linkMs} ms`)
      t.ok(Math.abs(median - linkMs) < OFF_MS, `${linkMs} ms: ${median.toFixed(3)} ms, ${JSON.stringify(all)}`)
    }
  },
)
